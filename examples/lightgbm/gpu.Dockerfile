# docker build -f examples/lightgbm/gpu.Dockerfile -t registry.example.com/examples/lightgbm:v1-gpu examples/lightgbm
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 ocl-icd-libopencl1 python3-pip && rm -rf /var/lib/apt/lists/* \
    && mkdir -p /etc/OpenCL/vendors && echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd
RUN pip install --no-cache-dir lightgbm==4.5.0 numpy==2.0.2 scipy==1.14.1
COPY train.py /app/
ENTRYPOINT ["python3", "/app/train.py"]
