import { fastify } from "fastify";

/** The same Fastify with nothing to do: answers every asset with the text it was started with, which is JSON already. */
const [, , body = ""] = process.argv;
const server = fastify();
server.get("/v1/assets/:asset_id", (_request, reply) => reply.type("application/json; charset=utf-8").send(body));
const address = await server.listen({ host: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ msg: "listening", port: Number(new URL(address).port) }));
