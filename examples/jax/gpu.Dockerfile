# docker build -f examples/jax/gpu.Dockerfile -t registry.example.com/examples/jax:v1-gpu examples/jax
FROM nvcr.io/nvidia/jax:24.10-py3
COPY train.py /app/
ENTRYPOINT ["python3", "/app/train.py"]
