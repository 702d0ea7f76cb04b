# docker build -f examples/pytorch-ddp/gpu.Dockerfile -t registry.example.com/examples/pytorch-ddp:v1-gpu examples/pytorch-ddp
FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
COPY train.py /app/
ENTRYPOINT ["torchrun", "/app/train.py"]
