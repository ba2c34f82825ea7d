# Headlight with its checkpoints, for one machine: docker build -t headlight . && docker run --rm -p 8501:8501 headlight
# compose.yaml runs several processes behind nginx.
FROM python:3.11-slim

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1
WORKDIR /headlight
COPY requirements.txt .
# The build of torch for processors first: on Linux the plain index brings gigabytes of libraries for GPUs.
RUN pip install --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' requirements.txt)" \
    && pip install --requirement requirements.txt
COPY . .
# A volume takes its owner from the folder in the image: nginx is for compose.yaml.
RUN useradd --create-home --uid 1000 headlight \
    && install -d -o 1000 /home/headlight/nginx /home/headlight/checkpoints
USER 1000
# What a person trains: the program itself belongs to root.
ENV HEADLIGHT_CHECKPOINTS=/home/headlight/checkpoints

EXPOSE 8501
HEALTHCHECK --start-period=60s --timeout=10s CMD ["python", "deploy/healthy.py"]
CMD ["python", "-m", "headlight", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true"]
