import { type BackoffOptions, fullJitter } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { isFinal } from "../../protocol/deployments/deployment-event.ts";
import type { EventStream, StreamedEvent } from "../api/deployments.ts";
import { NetworkFailure } from "../api/network-failure.ts";
import { StreamOutage, StreamEnded } from "../api/stream-outage.ts";
import { ServiceFailure } from "../api/service-failure.ts";

/** Opens the event stream of one deployment. */
export interface DeploymentEventSource {
  /** Opens the stream for the first time. Must be safe to repeat: a request that starts a deployment has an `Idempotency-Key`. */
  start(): Promise<EventStream>;
  /** Opens the stream again, after the event with number `after`. */
  resume(deploymentId: string, after: number): Promise<EventStream>;
}

/** Receives what happens while a deployment is followed. */
export interface FollowListener {
  /** Called with each event once, in order. */
  onEvent(event: StreamedEvent): void;
  /** Called when the connection is lost. The deployment continues. */
  onDisconnected(why: string): void;
  /** Called when the stream is open again. */
  onReconnected(): void;
}

/** How a lost connection is opened again. */
export interface RetryRules {
  /** How long to retry without a connection, or with one that brings nothing and ends at once, in milliseconds. */
  readonly giveUpAfterMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface FollowOptions {
  readonly source: DeploymentEventSource;
  readonly listener: FollowListener;
  /** Id of an existing deployment to watch. */
  readonly deploymentId?: string;
  /** Return after the first event. */
  readonly detach?: boolean;
  readonly retry: RetryRules;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called once, as soon as the id is known. */
  readonly onDeploymentId?: (id: string) => void;
}

const BACKOFF: BackoffOptions = { baseMs: 500, maxMs: 10_000 };

/** HTTP statuses of a service, or a proxy before it, that is temporarily unavailable. */
const RETRYABLE_STATUSES = new Set([429, 500, 502, 503, 504]);

/**
 * Follows a deployment to its final event, reconnecting as needed.
 *
 * @returns the final event, or with `detach` the first one. Errors: any error of the first request; later only a
 *   refusal, an outage longer than `giveUpAfterMs`, or the reason of `signal`
 */
export async function followDeployment(options: FollowOptions): Promise<StreamedEvent> {
  const { listener, retry, clock, signal } = options;
  const position = new Position(options);
  const outage = new StreamOutage(clock);
  let isSaid = false;
  for (;;) {
    let problem: unknown = new StreamEnded();
    try {
      using stream = await position.open();
      outage.opened();
      if (isSaid) listener.onReconnected();
      isSaid = false;
      const last = await readUntilFinal(stream, position, outage, options);
      if (last) return last;
    } catch (error) {
      signal.throwIfAborted();
      if (!isRetryable(error, position.mayHaveStarted)) throw error;
      problem = error;
    }
    const outageMs = outage.ended();
    if (outageMs !== undefined && outageMs >= retry.giveUpAfterMs) throw problem;
    if (!isSaid) listener.onDisconnected(describe(problem));
    isSaid = true;
    await clock.sleep(position.nextDelay(problem, retry.random()), signal);
  }
}

async function readUntilFinal(
  stream: EventStream,
  position: Position,
  outage: StreamOutage,
  options: FollowOptions,
): Promise<StreamedEvent | undefined> {
  for await (const event of stream.events) {
    if (!position.advance(stream, event)) continue;
    outage.progressed();
    options.listener.onEvent(event);
    if (isFinal(event) || options.detach) return event;
  }
  return undefined;
}

/** The position in a deployment's event stream. */
class Position {
  readonly #options: FollowOptions;
  #deploymentId: string | undefined;
  #seq = 0;
  #attempts = 0;
  /** Whether the service may have started the deployment. */
  mayHaveStarted = false;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#deploymentId = options.deploymentId;
  }

  async open(): Promise<EventStream> {
    const { source } = this.#options;
    try {
      const id = this.#deploymentId;
      const stream = id === undefined ? await source.start() : await source.resume(id, this.#seq);
      this.mayHaveStarted = true;
      this.#learnId(stream.deploymentId);
      return stream;
    } catch (error) {
      if (error instanceof NetworkFailure && error.mayHaveBeenSent) this.mayHaveStarted = true;
      throw error;
    }
  }

  /** Moves past an event. @returns whether the event is new */
  advance(stream: EventStream, event: StreamedEvent): boolean {
    this.#learnId(stream.deploymentId || event.deployment_id);
    if (event.seq !== undefined && event.seq <= this.#seq) return false;
    this.#seq = event.seq ?? this.#seq;
    this.#attempts = 0;
    return true;
  }

  /** Returns the delay before the next attempt in milliseconds: at least the service's `Retry-After`. */
  nextDelay(problem: unknown, random: number): number {
    const retryAfterMs = problem instanceof ServiceFailure ? (problem.retryAfterMs ?? 0) : 0;
    const delay = Math.max(retryAfterMs, fullJitter(this.#attempts, BACKOFF, random));
    this.#attempts += 1;
    return delay;
  }

  #learnId(id: string | undefined): void {
    // A refusal without a deployment has an empty id.
    if (!id || this.#deploymentId !== undefined) return;
    this.#deploymentId = id;
    this.#options.onDeploymentId?.(id);
  }
}

function isRetryable(error: unknown, mayHaveStarted: boolean): boolean {
  if (!mayHaveStarted) return false;
  return (
    error instanceof NetworkFailure || (error instanceof ServiceFailure && RETRYABLE_STATUSES.has(error.httpStatus))
  );
}

function describe(problem: unknown): string {
  if (problem instanceof NetworkFailure) return problem.reason;
  return problem instanceof ServiceFailure ? `HTTP ${problem.httpStatus}` : "the server ended the stream";
}
