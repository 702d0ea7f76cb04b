# docker build -f examples/xgboost/gpu.Dockerfile -t registry.example.com/examples/xgboost:v1-gpu examples/xgboost
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir xgboost==3.0.5 numpy==2.0.2 scipy==1.14.1
COPY train.py /app/
ENTRYPOINT ["python3", "/app/train.py"]
