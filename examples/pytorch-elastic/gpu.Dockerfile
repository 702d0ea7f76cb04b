# docker build -f examples/pytorch-elastic/gpu.Dockerfile -t registry.example.com/examples/pytorch-elastic:v1-gpu examples/pytorch-elastic
FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
COPY train.py /app/
ENTRYPOINT ["torchrun", "/app/train.py"]
