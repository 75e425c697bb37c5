import type { onSendHookHandler } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import { bodyBytes } from "./pacing.ts";

/** A body up to this length is read although its request was refused, so that the connection can be kept. */
export const MAX_DISCARDED_BYTES = 64 * 1024;
/** How long a client has to take the response while what it sends is not read. */
const LINGER_MS = 1_000;

/**
 * Returns a hook that leaves the rest of a large body unread when its request was refused before: reading what is thrown away
 * takes as long as reading what counts. The connection is closed behind the response.
 */
export function leaveRefusedBodies(clock: Clock): onSendHookHandler {
  return (request, reply, _payload, done) => {
    const { raw } = request;
    if (raw.complete || bodyBytes(raw.headers) <= MAX_DISCARDED_BYTES) return done();
    void reply.header("Connection", "close");
    // Otherwise Node.js reads it to its end once the response is sent. This takes what is there, up to a buffer of 64 KiB.
    raw.read(0);
    raw.pause();
    const { socket } = raw;
    // Called by Node.js behind the response. Closing a connection with unread data at once would reset it, and the response with it.
    socket.destroySoon = () => {
      socket.end();
      const timer = clock.timer(LINGER_MS, () => socket.destroy());
      socket.once("close", () => timer[Symbol.dispose]());
    };
    done();
  };
}
