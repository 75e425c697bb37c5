import { fastify } from "fastify";

/** A minimal Fastify server that returns the JSON text it was started with for every asset. */
const [, , body = ""] = process.argv;
const server = fastify();
server.get("/v1/assets/:asset_id", (_request, reply) => reply.type("application/json; charset=utf-8").send(body));
const address = await server.listen({ host: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ msg: "listening", port: Number(new URL(address).port) }));
