# The image has one program, Node, and the npm package of Tollgate: no shell, no package manager, 135 MB.
#   docker build -t tollgate .
#   docker run -p 8080:8080 -v tollgate:/data tollgate
FROM node:24.21.0-bookworm AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY console/package.json console/
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run package && deploy/image/root.sh "$(command -v node)" dist/npm/tollgate-*.tgz /image

FROM scratch
COPY --from=build /image /
# The embedded store. The catalogue file, if there is one, is /etc/tollgate/tollgate.yaml.
VOLUME /data
WORKDIR /etc/tollgate
ENV HOST=0.0.0.0 TOLLGATE_DATA=/data PATH=/usr/local/bin
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 8080}/healthz`).then(({ok})=>process.exit(ok?0:1),()=>process.exit(1))"]
# Node is process 1 and gets SIGTERM itself; running answers have up to 120 s to end: docker stop --time 130.
ENTRYPOINT ["node", "/tollgate/bin/tollgate.js"]
CMD ["start"]
