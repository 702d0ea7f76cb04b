# docker build -f examples/pytorch-fsdp/gpu.Dockerfile -t registry.example.com/examples/pytorch-fsdp:v1-gpu examples/pytorch-fsdp
FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
COPY train.py /app/
ENTRYPOINT ["torchrun", "/app/train.py"]
