"""What all visitors of one server share: caches, the gate, jobs, uploads, the training process."""
