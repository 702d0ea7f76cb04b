# docker build -f examples/jax/gpu.Dockerfile -t ghcr.io/trainingjob/examples/jax:v1-gpu examples/jax
FROM nvcr.io/nvidia/jax:24.10-py3
COPY train.py /app/
ENTRYPOINT ["python3", "/app/train.py"]
