/** How a release is broken, and what becomes of it on a device. */
export interface BrokenRelease {
  readonly name: string;
  /** Suffix of its version, unique. */
  readonly suffix: string;
  /** JavaScript that the program runs first. */
  readonly fault?: string;
  /** A script of the shell in place of Node.js and the program. */
  readonly script?: string;
  /** `agent_updates.trial_s` of the device meanwhile, where it is not the default. */
  readonly trialS?: number;
  /** Why the device goes back; `undefined`: it does not, since the release has confirmed itself. */
  readonly reason: "crashed" | "unconfirmed" | undefined;
}

/** Of the daemon; commands of the release work. */
const inDaemon = (code: string): string => `if (process.argv[2] === "run") { ${code} }\n`;
/** Blocks the process and takes no processor time. */
const BLOCK = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);";
/** Calls `refuses(options)` for each connection of a socket, with the arguments of `connect`, and lets it fail if that is true. */
const connections = (refuses: string): string =>
  inDaemon(`
  const { createRequire } = await import("node:module");
  const { Socket } = createRequire("/")("node:net");
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (...args) {
    const options = Array.isArray(args[0]) ? args[0][0] : typeof args[0] === "object" ? args[0] : { port: args[0] };
    if ((${refuses})(options, this)) {
      process.nextTick(() => this.destroy(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })));
      return this;
    }
    return connect.apply(this, args);
  };`);

const SHORT_TRIAL_S = 60;

/** Every way to fail that a device has to survive. What is refused before it starts is tested without devices. */
export const BROKEN_RELEASES: readonly BrokenRelease[] = [
  {
    name: "its Node.js does not start",
    suffix: "node",
    script: "echo 'node: error while loading shared libraries: libatomic.so.1' >&2; exit 127",
    reason: "crashed",
  },
  {
    name: "crashes at once",
    suffix: "crash",
    fault: inDaemon(`throw new Error("cannot read the field table of undefined");`),
    reason: "crashed",
  },
  {
    name: "hangs before it is ready",
    suffix: "hang.early",
    fault: inDaemon(BLOCK),
    trialS: SHORT_TRIAL_S,
    reason: "unconfirmed",
  },
  {
    name: "hangs after it is ready",
    suffix: "hang.late",
    fault: inDaemon(`setTimeout(() => { ${BLOCK} }, 15_000);`),
    reason: "crashed",
  },
  {
    name: "takes more memory than its unit allows",
    suffix: "memory",
    // No more than this, if nothing stops it.
    fault: inDaemon(
      "const held = []; setTimeout(() => { while (held.length < 30) held.push(Buffer.alloc(16e6, held.length + 1)); process.abort(); }, 15_000);",
    ),
    reason: "crashed",
  },
  {
    name: "does not reach the container engine",
    suffix: "engine",
    fault: connections("({ path }) => /(docker|podman)\\.sock$/.test(path ?? '')"),
    trialS: SHORT_TRIAL_S,
    reason: "unconfirmed",
  },
  {
    name: "does not connect",
    suffix: "link",
    fault: connections("({ port }) => port !== undefined"),
    trialS: SHORT_TRIAL_S,
    reason: "unconfirmed",
  },
  {
    name: "connects, and loses the link every minute",
    suffix: "flap",
    fault: connections(
      "({ port }, socket) => { if (port !== undefined) setTimeout(() => socket.destroy(), 60_000).unref(); return false; }",
    ),
    trialS: 2 * SHORT_TRIAL_S,
    reason: "unconfirmed",
  },
  {
    name: "writes garbage into the store, and crashes",
    suffix: "store",
    fault: inDaemon(`
  setTimeout(async () => {
    const { openSync, writeSync } = await import("node:fs");
    const { randomBytes } = await import("node:crypto");
    writeSync(openSync("/var/lib/edge-agent/agent.db", "r+"), randomBytes(16_384), 0, 16_384, 0);
    process.abort();
  }, 15_000);`),
    reason: "crashed",
  },
  {
    name: "confirms itself, and crashes from then on",
    suffix: "z.late",
    fault: inDaemon("setTimeout(() => process.abort(), 150_000);"),
    reason: undefined,
  },
];
