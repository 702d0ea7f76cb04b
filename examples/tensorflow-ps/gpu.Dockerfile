# docker build -f examples/tensorflow-ps/gpu.Dockerfile -t registry.example.com/examples/tensorflow-ps:v1-gpu examples/tensorflow-ps
FROM tensorflow/tensorflow:2.18.0-gpu
COPY train.py /app/
ENTRYPOINT ["python3", "/app/train.py"]
