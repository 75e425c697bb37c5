import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { tempDir } from "../temp-dir.ts";

/** A request to the engine: before it is forwarded, or after, when the engine's response begins. */
export interface EngineCall {
  readonly method: string;
  /** Path without the version of the API, such as `/containers/create`. */
  readonly path: string;
  readonly phase: "before" | "after";
}

/**
 * Forwards the call, never responds, or cuts the connection. In phase `after`, the engine has done the work and its
 * response is lost.
 */
export type CallAction = "pass" | "hang" | "cut";

export type Interceptor = (call: EngineCall) => CallAction | Promise<CallAction>;

/** A unix socket in front of an engine's that can count, delay and drop requests. */
export class EngineProxy implements AsyncDisposable {
  readonly socketPath: string;
  readonly #upstream: string;
  readonly #owned: AsyncDisposableStack;
  readonly #server: Server;
  #intercept: Interceptor = () => "pass";

  private constructor(directory: string, upstream: string, owned: AsyncDisposableStack) {
    this.socketPath = join(directory, "engine.sock");
    this.#upstream = upstream;
    this.#owned = owned;
    this.#server = createServer((incoming, outgoing) => {
      this.#relay(incoming, outgoing).catch(() => outgoing.destroy());
    });
    // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
    this.#server.keepAliveTimeout = 0;
  }

  /** @param upstream path of the engine's own socket */
  static async to(upstream: string): Promise<EngineProxy> {
    await using owned = new AsyncDisposableStack();
    const { path } = owned.use(await tempDir());
    const proxy = new EngineProxy(path, upstream, owned.move());
    await new Promise<void>((resolve) => {
      proxy.#server.listen(proxy.socketPath, resolve);
    });
    return proxy;
  }

  /** Calls `interceptor` for every further request. Default: all pass. */
  intercept(interceptor: Interceptor = () => "pass"): void {
    this.#intercept = interceptor;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    await this.#owned.disposeAsync();
  }

  async #relay(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const call = { method: incoming.method ?? "", path: pathOf(incoming.url ?? "") };
    if (!(await this.#passes({ ...call, phase: "before" }, incoming))) return;
    const { method, headers, url: path } = incoming;
    const onward = request({ socketPath: this.#upstream, method, path, headers, agent: false });
    // A client that disconnects from the proxy disconnects from the engine.
    outgoing.once("close", () => onward.destroy());
    onward.once("error", () => outgoing.destroy());
    onward.once("response", (response) => {
      response.once("error", () => outgoing.destroy());
      this.#passes({ ...call, phase: "after" }, incoming).then(
        (passes) => {
          if (!passes) return response.resume();
          outgoing.writeHead(response.statusCode ?? 502, response.headers);
          return response.pipe(outgoing);
        },
        () => outgoing.destroy(),
      );
    });
    incoming.pipe(onward);
  }

  async #passes(call: EngineCall, incoming: IncomingMessage): Promise<boolean> {
    const action = await this.#intercept(call);
    if (action === "cut") incoming.socket.destroy();
    return action === "pass";
  }
}

function pathOf(url: string): string {
  return url.replace(/^\/v\d[\d.]*/, "").replace(/\?.*$/, "");
}
