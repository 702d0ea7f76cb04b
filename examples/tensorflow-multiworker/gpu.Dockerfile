# docker build -f examples/tensorflow-multiworker/gpu.Dockerfile -t registry.example.com/examples/tensorflow-multiworker:v1-gpu examples/tensorflow-multiworker
FROM tensorflow/tensorflow:2.18.0-gpu
COPY train.py /app/
ENTRYPOINT ["python3", "/app/train.py"]
