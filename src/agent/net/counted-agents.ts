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

/* Functions, not classes: a class that extends Node.js's would load its module with this one, at each start of the agent. */

/** Creates an HTTP agent whose connections are counted. */
export function countedHttpAgent(
  options: Pick<AgentOptions, "keepAlive" | "timeout">,
  onConnection: OnConnection,
): HttpAgent {
  const agent = new HttpAgent(options);
  agent.createConnection = (options: CountedOptions, done?: Done) => {
    connectCounted(options, onConnection, (error, tcp) => done?.(error, tcp));
    return undefined;
  };
  return agent;
}

/** Creates an HTTPS agent whose connections are counted with TLS, which a TLS socket does not count. */
export function countedHttpsAgent(options: AgentOptions, onConnection: OnConnection): HttpsAgent {
  const agent = new HttpsAgent(options);
  const createTls = agent.createConnection.bind(agent);
  agent.createConnection = (options: CountedOptions, done?: Done) => {
    // TLS begins once TCP is connected: Node.js replaces the handle while it tries one address after the other.
    connectCounted(options, onConnection, (error, tcp) => {
      if (error) return done?.(error, tcp);
      const onTcp = { ...options, host: undefined, port: undefined, path: undefined, socket: tcp } as ClientRequestArgs;
      done?.(null, createTls(onTcp) as Duplex);
    });
    return undefined;
  };
  return agent;
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
