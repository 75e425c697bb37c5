import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

/** A WebSocket server that answers the first message of each connection, and does nothing else. */
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false, clientTracking: false });
server.on("connection", (socket) => {
  socket.once("message", () => socket.send('{"type":"welcome"}'));
});
server.on("listening", () => {
  console.log(JSON.stringify({ msg: "listening", port: (server.address() as AddressInfo).port }));
});
