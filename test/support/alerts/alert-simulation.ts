import {
  type AlertChange,
  keyOf,
  type Observation,
  type OpenAlert,
} from "../../../src/control-plane/core/alerts/alert.ts";
import { evaluate, type ParsedRule } from "../../../src/control-plane/core/alerts/evaluate.ts";
import {
  type AlertGroup,
  assignGroups,
  nextGroupStep,
  type AlertRoute,
  type SilenceMatcher,
} from "../../../src/control-plane/core/alerts/grouping.ts";

/** A message, as the core decides it. */
export interface SimulatedMessage {
  readonly atMs: number;
  readonly groupId: string;
  readonly condition: string;
  readonly message: string;
  readonly total: number;
}

/** Plays the core of alerts as the executor runs it, in memory. */
export class AlertSimulation {
  readonly rules: readonly ParsedRule[];
  readonly routes: readonly AlertRoute[];
  silences: readonly SilenceMatcher[] = [];
  readonly messages: SimulatedMessage[] = [];
  readonly alerts = new Map<string, OpenAlert>();
  readonly groups = new Map<string, AlertGroup>();
  readonly #members = new Map<string, Set<string>>();
  #opened = 0;
  #nextId = 0;

  constructor(rules: readonly ParsedRule[] = [], routes: readonly AlertRoute[] = []) {
    this.rules = rules;
    this.routes = routes;
  }

  /** How many alerts have fired. */
  get fired(): number {
    return this.#opened;
  }

  /** Keys of what fires, in order. */
  get firing(): readonly string[] {
    return [...this.alerts.values()]
      .filter(({ state }) => state === "firing")
      .map(keyOf)
      .toSorted();
  }

  acknowledge(): void {
    for (const [id, alert] of this.alerts) this.alerts.set(id, { ...alert, isAcknowledged: true });
  }

  run(observed: readonly Observation[], nowMs: number): void {
    for (const change of evaluate([...this.alerts.values()], observed, this.rules, nowMs)) this.#apply(change, nowMs);
    const newId = (): string => `grp_${this.#nextId++}`;
    const alerts = [...this.alerts.values()];
    const assignments = assignGroups(alerts, this.routes, this.silences, [...this.groups.values()], nowMs, newId);
    for (const { alertId, routeId, group } of assignments) {
      this.groups.set(group.id, this.groups.get(group.id) ?? group);
      const members = this.#members.get(group.id) ?? new Set();
      this.#members.set(group.id, members.add(alertId));
      const alert = this.alerts.get(alertId);
      if (alert) this.alerts.set(alertId, { ...alert, routeIds: [...alert.routeIds, routeId] });
    }
    for (const group of this.groups.values()) this.#step(group, nowMs);
  }

  #apply(change: AlertChange, nowMs: number): void {
    if (change.kind === "open") {
      const id = `alr_${this.#nextId++}`;
      if (change.alert.state === "firing") this.#opened++;
      this.alerts.set(id, { ...change.alert, id, clearSinceMs: undefined, isAcknowledged: false, routeIds: [] });
      return;
    }
    const alert = this.alerts.get(change.id);
    if (!alert) throw new Error(`${change.kind} of an alert that is not open`);
    if (change.kind === "fire") this.#opened++;
    if (change.kind === "fire") this.alerts.set(alert.id, { ...alert, state: "firing", firedAtMs: nowMs });
    else if (change.kind === "clear") this.alerts.set(alert.id, { ...alert, clearSinceMs: change.clearSinceMs });
    else this.alerts.delete(alert.id);
  }

  #step(group: AlertGroup, nowMs: number): void {
    const members = this.#members.get(group.id) ?? new Set();
    const open = [...members].flatMap((id) => this.alerts.get(id) ?? []);
    const unacknowledged = open.filter(({ isAcknowledged }) => !isAcknowledged).length;
    const counts = { total: members.size, open: open.length, unacknowledged };
    const route = this.routes.find(({ id }) => id === group.routeId);
    const { message, isClosed } = nextGroupStep(group, counts, route, nowMs);
    if (message !== undefined) {
      this.messages.push({ atMs: nowMs, groupId: group.id, condition: group.condition, message, total: members.size });
      this.groups.set(group.id, { ...group, sends: group.sends + 1, sentTotal: members.size, lastSentAtMs: nowMs });
    }
    if (isClosed) this.groups.delete(group.id);
  }
}

/** A route that takes everything, and tells of ends. */
export function someRoute(fields: Partial<AlertRoute> = {}): AlertRoute {
  return {
    id: "rou_1",
    conditions: undefined,
    severities: undefined,
    terms: [],
    channels: ["ops"],
    for_s: 0,
    group_wait_s: 2,
    repeat_s: null,
    send_resolved: true,
    quiet_hours: null,
    ...fields,
  };
}

/** A condition of an asset that holds now. */
export function someObservation(fields: Partial<Observation> & { readonly name?: string } = {}): Observation {
  const { name = "GW-1", ...rest } = fields;
  const subject = { kind: "asset", id: name, name, type: "gateway", tags: new Map() } as const;
  return { condition: "device_offline", subject, sinceMs: undefined, isAway: false, ...rest };
}
