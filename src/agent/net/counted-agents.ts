import { type ClientRequestArgs, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from "node:https";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import type { Duplex } from "node:stream";

type Done = (error: Error | null, stream: Duplex) => void;

export interface CountedOptions extends ClientRequestArgs {
  /** Ends a pending connection attempt. */
  readonly attemptSignal?: AbortSignal;
}

/** Called with each TCP connection, from its first byte. */
type OnConnection = (tcp: Socket) => void;

type AgentOptions = Pick<HttpsAgentOptions, "keepAlive" | "timeout" | "checkServerIdentity">;

/** An HTTP agent whose connections are counted. */
export class CountedHttpAgent extends HttpAgent {
  readonly #onConnection: OnConnection;

  constructor(options: Pick<AgentOptions, "keepAlive" | "timeout">, onConnection: OnConnection) {
    super(options);
    this.#onConnection = onConnection;
  }

  override createConnection(options: CountedOptions, done?: Done): undefined {
    connectCounted(options, this.#onConnection, (error, tcp) => done?.(error, tcp));
  }
}

/** An HTTPS agent whose connections are counted with TLS, which a TLS socket does not count. */
export class CountedHttpsAgent extends HttpsAgent {
  readonly #onConnection: OnConnection;

  constructor(options: AgentOptions, onConnection: OnConnection) {
    super(options);
    this.#onConnection = onConnection;
  }

  override createConnection(options: CountedOptions, done?: Done): undefined {
    // TLS begins once TCP is connected: Node.js replaces the handle while it tries one address after the other.
    connectCounted(options, this.#onConnection, (error, tcp) => {
      if (error) return done?.(error, tcp);
      const onTcp = { ...options, host: undefined, port: undefined, path: undefined, socket: tcp } as ClientRequestArgs;
      done?.(null, super.createConnection(onTcp) as Duplex);
    });
  }
}

function connectCounted(
  { attemptSignal, ...options }: CountedOptions,
  onConnection: OnConnection,
  done: (error: Error | null, tcp: Socket) => void,
): void {
  const tcp = connect(options as NetConnectOpts);
  onConnection(tcp);
  const onAbort = (): void => void tcp.destroy(new DOMException("the request was aborted", "AbortError"));
  const settle = (error: Error | null): void => {
    attemptSignal?.removeEventListener("abort", onAbort);
    tcp.off("error", settle).off("connect", onConnect);
    done(error, tcp);
  };
  const onConnect = (): void => settle(null);
  tcp.once("error", settle).once("connect", onConnect);
  attemptSignal?.addEventListener("abort", onAbort, { once: true });
}
