import type { AccountEvent, AccountStreamNote } from "../../protocol/assets/account-event.ts";
import { ApiFailure, readFailure } from "../api/failure.ts";
import { readMessages } from "./line-stream.ts";
import { noteResponse, noteUnreachable } from "../api/reachability.ts";

const MIN_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5000;
/** The service sends a blank line every 15 s. */
const MAX_SILENCE_MS = 45_000;

export interface StreamHandlers {
  readonly onEvent: (event: AccountEvent) => void;
  /** Events were missed: everything that is shown has to be fetched again. */
  readonly onReset: () => void;
  /** The session has ended. */
  readonly onSignedOut: () => void;
  /**
   * Whether the stream may go on where it was: another tab may have signed in another person meanwhile, whose events are
   * numbered apart. Never rejects.
   */
  readonly mayResume: () => Promise<boolean>;
}

/** How far the events were followed, for a stream that takes up again. */
export interface Position {
  lastId?: string;
}

/**
 * Follows the events of the account until the signal aborts: one stream for the tab. Takes up again after the last event
 * it has seen, with pauses that grow and are random, so that many consoles do not return at once.
 */
export async function followAccount(handlers: StreamHandlers, position: Position, signal: AbortSignal): Promise<void> {
  let pauseMs = MIN_PAUSE_MS;
  while (!signal.aborted) {
    try {
      if (position.lastId !== undefined && !(await handlers.mayResume())) return;
      for await (const message of openStream(position.lastId, signal)) {
        pauseMs = MIN_PAUSE_MS;
        if (message.type === "end") break;
        position.lastId = message.id;
        if (message.type === "reset") handlers.onReset();
        else if (message.type !== "hello") handlers.onEvent(message);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiFailure && error.status === 401) return handlers.onSignedOut();
      // The role may not follow events: pages are fetched when they are opened.
      if (error instanceof ApiFailure && (error.status === 403 || error.status === 404)) return;
      noteUnreachable();
    }
    await pause(pauseMs * (0.5 + Math.random()), signal);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  }
}

type Message = AccountEvent | AccountStreamNote | { readonly type: "end" };

async function* openStream(after: string | undefined, signal: AbortSignal): AsyncGenerator<Message> {
  const silence = new SilenceTimer();
  try {
    const url = after === undefined ? "/v1/events" : `/v1/events?after=${encodeURIComponent(after)}`;
    const response = await fetch(url, { signal: AbortSignal.any([signal, silence.signal]), cache: "no-store" });
    noteResponse(response);
    if (!response.ok) throw await readFailure(response);
    if (!response.body) return;
    for await (const message of readMessages(response.body.pipeThrough(silence.listener()))) yield message as Message;
  } finally {
    silence.stop();
  }
}

/** Aborts a stream that sends nothing at all: a link may be lost without a word. */
class SilenceTimer {
  readonly #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#restart();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  listener(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array> {
    return new TransformStream({
      transform: (chunk, controller) => {
        this.#restart();
        controller.enqueue(chunk);
      },
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(), MAX_SILENCE_MS);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
