import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { tempDir } from "../temp-dir.ts";

/** A request to the engine as it passes: before it is handed on, or after, when the engine's answer begins. */
export interface EngineCall {
  readonly method: string;
  /** Path without the version of the API, such as `/containers/create`. */
  readonly path: string;
  readonly phase: "before" | "after";
}

/**
 * What becomes of it: goes on, is never answered, or its connection is cut (`after` means that the work is done and the
 * answer lost).
 */
export type CallAction = "pass" | "hang" | "cut";

export type Interceptor = (call: EngineCall) => CallAction | Promise<CallAction>;

/** A unix socket before an engine's, where requests can be counted, held up and lost. */
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

  /** Asks `interceptor` about every request from now on. Without one all pass. */
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
    // Who hangs up on the proxy hangs up on the engine.
    outgoing.once("close", () => onward.destroy());
    onward.once("error", () => outgoing.destroy());
    onward.once("response", (answer) => {
      answer.once("error", () => outgoing.destroy());
      this.#passes({ ...call, phase: "after" }, incoming).then(
        (passes) => {
          if (!passes) return answer.resume();
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          return answer.pipe(outgoing);
        },
        () => outgoing.destroy(),
      );
    });
    incoming.pipe(onward);
  }

  async #passes(call: EngineCall, incoming: IncomingMessage): Promise<boolean> {
    const verdict = await this.#intercept(call);
    if (verdict === "cut") incoming.socket.destroy();
    return verdict === "pass";
  }
}

function pathOf(url: string): string {
  return url.replace(/^\/v\d[\d.]*/, "").replace(/\?.*$/, "");
}
