import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

export type Direction = "up" | "down";

/** A relayed frame; `up` is towards the control plane. */
export interface RelayedFrame {
  readonly direction: Direction;
  readonly type: string;
  readonly phase: "before" | "after";
}

/** What to do with a frame. `late`: send it after the next frame, or after `LATE_MS` if none follows. */
export type FrameAction = "pass" | "twice" | "late" | "drop";

const LATE_MS = 300;

/**
 * A frame-aware WebSocket relay between an agent and its control plane. It can drop, repeat and reorder frames, go
 * silent like a modem without signal, pause, and reset connections. Pings and pongs are relayed too: the relay itself
 * never sends a pong.
 */
export class FrameRelay implements AsyncDisposable {
  /** Decides about each text frame. */
  decide: (frame: RelayedFrame) => FrameAction = () => "pass";
  /** Called with each text frame before and after it is relayed. */
  onFrame: (frame: RelayedFrame) => void | Promise<void> = () => {};
  readonly #target: () => number;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #paused: PromiseWithResolvers<void> | undefined;

  private constructor(target: () => number) {
    this.#target = target;
    const sockets = new WebSocketServer({ noServer: true, autoPong: false, perMessageDeflate: false });
    this.#server = createServer();
    this.#server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => {});
      const far = new WebSocket(`ws://127.0.0.1:${this.#target()}${request.url}`, {
        headers: { Authorization: request.headers.authorization ?? "" },
        autoPong: false,
        perMessageDeflate: false,
      });
      far.on("error", () => socket.destroy());
      far.once("open", () => {
        sockets.handleUpgrade(request, socket, head, (near) => this.#join(near, far));
      });
    });
  }

  /** @param target returns the control plane's loopback port; called for every connection */
  static async to(target: () => number): Promise<FrameRelay> {
    const relay = new FrameRelay(target);
    await new Promise<void>((resolve) => {
      relay.#server.listen(0, "127.0.0.1", resolve);
    });
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all connections. */
  cut(): void {
    for (const link of this.#links) link.cut();
  }

  /** Drops everything on the current connections without closing them. */
  silence(): void {
    for (const link of this.#links) link.isSilent = true;
  }

  /** Delays everything until `resume`; nothing is lost. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }

  /** Ends `pause`. */
  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    this.cut();
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #join(near: WebSocket, far: WebSocket): void {
    const link = new Link(near, far, {
      paused: () => this.#paused?.promise,
      decide: (frame) => this.decide(frame),
      onFrame: (frame) => this.onFrame(frame),
    });
    this.#links.add(link);
    near.once("close", () => this.#links.delete(link));
  }
}

interface LinkHooks {
  readonly paused: () => Promise<void> | undefined;
  readonly decide: (frame: RelayedFrame) => FrameAction;
  readonly onFrame: (frame: RelayedFrame) => void | Promise<void>;
}

/** One connection of the agent and its counterpart to the control plane. */
class Link {
  isSilent = false;
  readonly #near: WebSocket;
  readonly #far: WebSocket;
  readonly #hooks: LinkHooks;

  constructor(near: WebSocket, far: WebSocket, hooks: LinkHooks) {
    this.#near = near;
    this.#far = far;
    this.#hooks = hooks;
    this.#relay("up", near, far);
    this.#relay("down", far, near);
  }

  cut(): void {
    this.#near.terminate();
    this.#far.terminate();
  }

  #relay(direction: Direction, from: WebSocket, to: WebSocket): void {
    // Serialized, so that frames keep their order while one waits for `resume` or for `onFrame`.
    let queue: Promise<void> = Promise.resolve();
    const inTurn = (work: () => void | Promise<void>): void => {
      queue = queue.then(() => this.#hooks.paused()).then(work);
    };
    let late: string | undefined;
    const send = (text: string): void => {
      if (!this.isSilent && to.readyState === WebSocket.OPEN) to.send(text);
    };
    const flush = (): void => {
      if (late !== undefined) send(late);
      late = undefined;
    };
    from.on("message", (data: Buffer) => {
      inTurn(async () => {
        const text = data.toString();
        const { type } = JSON.parse(text) as { type: string };
        await this.#hooks.onFrame({ direction, type, phase: "before" });
        const action = this.#hooks.decide({ direction, type, phase: "before" });
        if (action === "late" && late === undefined) {
          late = text;
          setTimeout(flush, LATE_MS);
          return;
        }
        if (action !== "drop") send(text);
        if (action === "twice") send(text);
        flush();
        await this.#hooks.onFrame({ direction, type, phase: "after" });
      });
    });
    from.on("ping", () => inTurn(() => void (this.isSilent || to.readyState !== WebSocket.OPEN || to.ping())));
    from.on("pong", () => inTurn(() => void (this.isSilent || to.readyState !== WebSocket.OPEN || to.pong())));
    from.on("error", () => {});
    from.on("close", (code, reason) => {
      inTurn(() => {
        if (this.isSilent) return;
        if (code >= 1000 && code !== 1005 && code !== 1006) to.close(code, reason);
        else to.terminate();
      });
    });
  }
}
