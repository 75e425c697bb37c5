import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

export type Direction = "up" | "down";

/** A frame as it passes; `up` is towards the control plane. */
export interface RelayedFrame {
  readonly direction: Direction;
  readonly type: string;
  readonly phase: "before" | "after";
}

/** What becomes of one frame. `late`: behind the frame that follows it, or after a moment where none does. */
export type FrameAction = "pass" | "twice" | "late" | "drop";

const LATE_MS = 300;

/**
 * A WebSocket relay that knows frames, between an agent and its control plane. It can lose, repeat and reorder them,
 * go silent as a link does that lost its radio, hold everything back for a while, and cut. Probes pass through like
 * everything else: the relay answers none itself.
 */
export class FrameRelay implements AsyncDisposable {
  /** Decides about each text frame. Nothing stands for `pass`. */
  decide: (frame: RelayedFrame) => FrameAction = () => "pass";
  /** Told about each text frame before and after it is handed on. */
  onFrame: (frame: RelayedFrame) => void | Promise<void> = () => {};
  readonly #target: () => number;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #stalled: PromiseWithResolvers<void> | undefined;

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

  /** @param target port of the control plane on loopback, asked for with every connection */
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

  /** Resets all connections that stand. */
  cut(): void {
    for (const link of this.#links) link.cut();
  }

  /** Nothing passes any more on the connections that stand, and nobody is told. */
  silence(): void {
    for (const link of this.#links) link.isSilent = true;
  }

  /** Holds everything back until `flow`; nothing is lost. */
  pause(): void {
    this.#stalled ??= Promise.withResolvers();
  }

  /** Ends `stall`. */
  resume(): void {
    this.#stalled?.resolve();
    this.#stalled = undefined;
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
      stalled: () => this.#stalled?.promise,
      fate: (frame) => this.decide(frame),
      onFrame: (frame) => this.onFrame(frame),
    });
    this.#links.add(link);
    near.once("close", () => this.#links.delete(link));
  }
}

interface LinkHooks {
  readonly stalled: () => Promise<void> | undefined;
  readonly fate: (frame: RelayedFrame) => FrameAction;
  readonly onFrame: (frame: RelayedFrame) => void | Promise<void>;
}

/** One connection of the agent, and the one to the control plane it is relayed to. */
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
    // One after the other: what waits for a stall, or for whoever watches, holds up what follows it.
    let queue: Promise<void> = Promise.resolve();
    const inTurn = (work: () => void | Promise<void>): void => {
      queue = queue.then(() => this.#hooks.stalled()).then(work);
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
        const fate = this.#hooks.fate({ direction, type, phase: "before" });
        if (fate === "late" && late === undefined) {
          late = text;
          setTimeout(flush, LATE_MS);
          return;
        }
        if (fate !== "drop") send(text);
        if (fate === "twice") send(text);
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
