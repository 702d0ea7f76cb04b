# docker build -f examples/paddle/gpu.Dockerfile -t registry.example.com/examples/paddle:v1-gpu examples/paddle
FROM paddlepaddle/paddle:2.6.2-gpu-cuda12.0-cudnn8.9-trt8.6
COPY train.py /app/
ENTRYPOINT ["python3", "-m", "paddle.distributed.launch", "/app/train.py"]
