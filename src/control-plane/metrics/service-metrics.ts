import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { CLOSE_CODES } from "../../protocol/link/frames.ts";
import { type SimType, simTypeSchema } from "../../protocol/assets/sim.ts";
import {
  type Bound,
  BOUNDS,
  type ObservedRequest,
  type Observer,
  OPERATOR_OUTCOMES,
  type OperatorOutcome,
} from "./observer.ts";

const REQUEST_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Streams last from one event to hours. */
const STREAM_BUCKETS_S = [1, 10, 60, 300, 900, 3600, 14_400];

/** Any text may be sent as a method; these are the ones that endpoints have. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const CLOSE_REASONS = new Map<number, string>([
  [1000, "normal"],
  // Without a closing handshake: the link was lost, or the connection was cut.
  [1005, "normal"],
  [1006, "lost"],
  ...Object.entries(CLOSE_CODES).map(([name, code]): [number, string] => [code, toSnakeCase(name)]),
]);

/** Counts what the service reports as it happens. */
export class ServiceMetrics implements Observer {
  readonly #requests;
  readonly #streams;
  readonly #openStreams;
  readonly #bounded;
  readonly #devicesRefused;
  readonly #opened;
  readonly #closed;
  readonly #frames;
  readonly #bytes;
  readonly #operatorCalls;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Histogram({
      name: "edge_control_http_request_duration_seconds",
      help: "Time to respond to HTTP requests, without streams, by the route's pattern.",
      labelNames: ["method", "route", "status"],
      buckets: REQUEST_BUCKETS_S,
      registers,
    });
    this.#streams = new Histogram({
      name: "edge_control_http_stream_duration_seconds",
      help: "How long streamed HTTP responses lasted, from the request to the end.",
      labelNames: ["method", "route", "status"],
      buckets: STREAM_BUCKETS_S,
      registers,
    });
    this.#openStreams = new Gauge({
      name: "edge_control_event_streams_open",
      help: "Event streams of clients that are open.",
      registers,
    });
    this.#bounded = new Counter({
      name: "edge_control_bounded_total",
      help: "How often a bound of the service was reached and something was refused or cut off, by bound.",
      labelNames: ["bound"],
      registers,
    });
    this.#devicesRefused = new Counter({
      name: "edge_control_device_connections_refused_total",
      help: "Connections of devices that were refused because their token is missing, wrong or revoked.",
      registers,
    });
    this.#opened = new Counter({
      name: "edge_control_device_sessions_opened_total",
      help: "Sessions of devices that were opened.",
      registers,
    });
    this.#closed = new Counter({
      name: "edge_control_device_connections_closed_total",
      help: "Connections of devices that were closed, by reason, and whether they had a session (were welcomed).",
      labelNames: ["reason", "session"],
      registers,
    });
    this.#frames = new Counter({
      name: "edge_control_device_frames_total",
      help: "Messages received from devices (in) and sent to them (out).",
      labelNames: ["direction"],
      registers,
    });
    this.#bytes = new Counter({
      name: "edge_control_device_bytes_total",
      help: "Bytes of messages received from devices (in) and sent to them (out), without WebSocket and TLS.",
      labelNames: ["direction"],
      registers,
    });
    this.#operatorCalls = new Counter({
      name: "edge_control_sim_operator_calls_total",
      help: "Calls of the companies that run the SIMs, by what they ended with; also those that were not sent, as it wants none.",
      labelNames: ["sim_type", "outcome"],
      registers,
    });
    // A counter that appears with its first increase would have no rate.
    for (const bound of BOUNDS) this.#bounded.inc({ bound }, 0);
    for (const reason of new Set([...CLOSE_REASONS.values(), "other"])) this.#closed.inc({ reason, session: "yes" }, 0);
    for (const direction of ["in", "out"]) {
      this.#frames.inc({ direction }, 0);
      this.#bytes.inc({ direction }, 0);
    }
    for (const type of simTypeSchema.options)
      for (const outcome of OPERATOR_OUTCOMES) this.#operatorCalls.inc({ sim_type: type, outcome }, 0);
  }

  request({ method, route, status, ms, isStream }: ObservedRequest): void {
    const labels = {
      method: METHODS.has(method) ? method : "other",
      route: route ?? "(none)",
      status: `${Math.floor(status / 100)}xx`,
    };
    (isStream ? this.#streams : this.#requests).observe(labels, ms / 1000);
  }

  bounded(bound: Bound): void {
    this.#bounded.inc({ bound });
  }

  eventStream(): Disposable {
    this.#openStreams.inc();
    return { [Symbol.dispose]: () => this.#openStreams.dec() };
  }

  deviceRefused(): void {
    this.#devicesRefused.inc();
  }

  sessionOpened(): void {
    this.#opened.inc();
  }

  connectionClosed(closeCode: number, hadSession: boolean): void {
    this.#closed.inc({ reason: CLOSE_REASONS.get(closeCode) ?? "other", session: hadSession ? "yes" : "no" });
  }

  received(bytes: number): void {
    this.#frames.inc(IN);
    this.#bytes.inc(IN, bytes);
  }

  sent(bytes: number): void {
    this.#frames.inc(OUT);
    this.#bytes.inc(OUT, bytes);
  }

  operatorCalled(type: SimType, outcome: OperatorOutcome): void {
    this.#operatorCalls.inc({ sim_type: type, outcome });
  }
}

const IN = { direction: "in" };
const OUT = { direction: "out" };

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
