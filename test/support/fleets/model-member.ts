import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import type { MemberStateName } from "../../../src/protocol/fleets/fleet-member.ts";
import type { MemberFacts, MemberTarget } from "../../../src/control-plane/core/fleets/judge-member.ts";
import type { SeededRandom } from "../chaos/seeded-random.ts";

/*
 * A member of a fleet whose apps are changed by the fleet and by people, and what it is by the definitions in docs/fleets.md. Written
 * without the code that judges: it knows what happened, where that code has reports only.
 */

export const MEMBER_FLEET = "kiosk";
const APPS = ["web", "db"] as const;
type Name = (typeof APPS)[number];

/** The image of an app in a revision: that of `db` is the same in two revisions each. */
export function memberImage(app: string, revision: number): string {
  const version = app === "db" ? Math.ceil(revision / 2) : revision;
  return `registry.example.com/${app}@sha256:${String(version).padStart(64, "0")}`;
}

interface App {
  readonly image: string;
  /** The revision that the device knows it to be from; `undefined`: it has lost its store, or the app is nobody's. */
  readonly revision: number | undefined;
  readonly isChanged: boolean;
  readonly isStopped: boolean;
}

interface ModelTarget {
  readonly revision: number;
  readonly kind: MemberTarget["kind"];
  readonly state: "pending" | "waiting" | "deploying" | "soaking" | "succeeded" | "failed";
}

export class ModelMember {
  nowMs = 1_800_000_000_000;
  stable: number | undefined;
  last = 0;
  readonly #random: SeededRandom;
  readonly #apps = new Map<Name, App>();
  /** As the service has heard of them: while the device is away, nothing new. */
  #reported: ReadonlyMap<Name, App> | undefined;
  #target: ModelTarget | undefined;
  #isConnected = true;
  #isHeld = false;
  #isForeign = false;
  #isAccepted = true;
  #hasVariables = true;
  /** The revision that it was seen running as a whole. */
  #whole: number | undefined;
  /** What happened, for people. */
  readonly story: string[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Lets something happen. */
  step(): void {
    const random = this.#random;
    this.nowMs += random.between(1, 3_600_000);
    const events: readonly [string, () => void][] = [
      ["a rollout begins", () => this.#begin("rollout", ++this.last)],
      ["the upkeep begins", () => this.stable !== undefined && this.#begin("upkeep", this.stable)],
      ["the fleet goes on", () => this.#goOn()],
      ["the fleet goes on", () => this.#goOn()],
      ["the fleet goes on", () => this.#goOn()],
      ["the rollout fails there", () => this.#set({ state: "failed" })],
      ["the rollout ends", () => this.#end()],
      ["a person stops an app", () => this.#change({ isStopped: true })],
      ["a person starts an app", () => this.#change({ isStopped: false })],
      ["a person changes an app", () => this.#change({ image: "by-hand", isChanged: true })],
      ["a person removes an app", () => void this.#apps.delete(random.pick(APPS))],
      ["the device loses its store", () => this.#loseStore()],
      ["the device is replaced", () => this.#replace()],
      ["the device is accepted", () => void (this.#isAccepted = true)],
      ["the hold changes", () => void (this.#isHeld = random.chance(0.4))],
      ["another fleet claims or releases", () => void (this.#isForeign = random.chance(0.3))],
      ["the variables change", () => void (this.#hasVariables = random.chance(0.8))],
      ["the device connects or leaves", () => void (this.#isConnected = random.chance(0.7))],
    ];
    const [what, happen] = random.pick(events);
    happen();
    if (this.#isConnected) this.#reported = new Map(this.#apps);
    this.story.push(what);
  }

  /** What the service knows of it. */
  facts(): MemberFacts {
    return {
      isConnected: this.#isConnected,
      lastSeenAtMs: this.nowMs,
      agentVersion: undefined,
      heldUntilMs: this.#isHeld ? Infinity : undefined,
      unacceptedSinceMs: this.#isAccepted ? undefined : this.nowMs,
      conflicts: this.#isForeign ? [{ app: "web", fleet: "other" }] : [],
      report: this.#reported && { apps: [...this.#reported].map(toReport), atMs: this.nowMs },
      targets: this.#target ? [toTarget(this.#target)] : [],
      revision: this.#whole,
      variableNames: new Set(this.#hasVariables ? ["SITE"] : []),
    };
  }

  /** What it is, by the definitions; and notes the revision that it is seen running as a whole. */
  judge(): MemberStateName {
    const target = this.#target;
    if (target?.state === "deploying" || target?.state === "soaking") return "updating";
    if (this.#isHeld) return "held";
    if (this.#isForeign) return "conflict";
    const arrived = target?.kind === "rollout" && target.state === "succeeded";
    const wanted = arrived ? target.revision : this.stable;
    const apps = this.#reported;
    if (apps === undefined) return "waiting";
    if (wanted === undefined) return this.#beforeAnyIsStable([...apps.values()]);
    const isMarked = [...apps.values()].some(({ revision }) => revision !== undefined);
    if (this.#whole === undefined && !isMarked) return "waiting";
    const isCurrent = APPS.every((name) => runs(name, apps.get(name), wanted));
    if (!isCurrent && !this.#isAccepted) return "waiting";
    if (isCurrent) {
      this.#whole = wanted;
      return "current";
    }
    const present = [...apps.values()];
    if (present.some(({ isStopped }) => isStopped)) return "stopped_by_hand";
    if (present.some(({ isChanged, revision }) => isChanged && revision !== undefined)) return "drifted";
    const behind = this.#otherWhole(apps, wanted);
    const isOpen = target?.state === "pending" || target?.state === "waiting";
    if (behind !== undefined) {
      this.#whole = behind;
      return isOpen ? "waiting" : "outdated";
    }
    const isForeign = ([name, app]: [Name, App]) => app.revision === undefined && !runs(name, app, wanted);
    if ([...apps].some(isForeign)) return "drifted";
    if (present.some(({ revision }) => revision !== undefined && revision !== wanted))
      return isOpen ? "waiting" : "outdated";
    return "missing";
  }

  /** Nothing is to be there: what people have done to what a rollout has left there is told all the same. */
  #beforeAnyIsStable(present: readonly App[]): MemberStateName {
    if (!this.#isAccepted || !present.some(({ revision }) => revision !== undefined)) return "waiting";
    if (present.some(({ isStopped }) => isStopped)) return "stopped_by_hand";
    return present.some(({ isChanged, revision }) => isChanged && revision !== undefined) ? "drifted" : "waiting";
  }

  /** The revision other than the wanted one that all of its apps are from: as the device says, or as it was seen running last. */
  #otherWhole(apps: ReadonlyMap<Name, App>, wanted: number): number | undefined {
    const first = APPS.map((name) => apps.get(name)).find(
      (app) => app?.revision !== undefined && app.revision !== wanted,
    );
    const candidate = first?.revision ?? this.#whole;
    if (candidate === undefined) return undefined;
    return APPS.every((name) => runs(name, apps.get(name), candidate)) ? candidate : undefined;
  }

  #begin(kind: MemberTarget["kind"], revision: number): void {
    this.#target = { kind, revision, state: this.#random.pick(["pending", "waiting"]) };
  }

  #set(fields: Partial<ModelTarget>): void {
    if (this.#target) this.#target = { ...this.#target, ...fields };
  }

  #goOn(): void {
    const target = this.#target;
    if (!target || !this.#isConnected || this.#isHeld || this.#isForeign) return;
    if (target.state === "pending" || target.state === "waiting") return this.#set({ state: "deploying" });
    if (target.state === "deploying") {
      // An apply leaves stopped apps stopped.
      for (const name of APPS) {
        const isStopped = this.#apps.get(name)?.isStopped ?? false;
        this.#apps.set(name, {
          image: memberImage(name, target.revision),
          revision: target.revision,
          isChanged: false,
          isStopped,
        });
      }
      return this.#set({ state: "soaking" });
    }
    if (target.state !== "soaking") return;
    const isRight = APPS.every((name) => runs(name, this.#apps.get(name), target.revision));
    this.#set({ state: isRight ? "succeeded" : "failed" });
    if (isRight) this.#whole = target.revision;
  }

  #end(): void {
    if (this.#target?.kind === "rollout" && this.#random.chance(0.7)) this.stable = this.#target.revision;
    this.#target = undefined;
  }

  #change(fields: Partial<App>): void {
    const name = this.#random.pick(APPS);
    const app = this.#apps.get(name);
    if (app) this.#apps.set(name, { ...app, ...fields });
  }

  #loseStore(): void {
    for (const [name, app] of this.#apps) this.#apps.set(name, { ...app, revision: undefined });
  }

  #replace(): void {
    this.#apps.clear();
    this.#isAccepted = false;
    this.#target = undefined;
  }
}

function runs(name: Name, app: App | undefined, revision: number): boolean {
  if (!app || app.isStopped) return false;
  if (app.revision !== undefined) return app.revision === revision && !app.isChanged;
  return app.image === memberImage(name, revision);
}

function toReport([name, { image, revision, isChanged, isStopped }]: [Name, App]): AppReport {
  return {
    name,
    image,
    image_digest: null,
    state: isStopped ? "stopped" : "running",
    desired_state: isStopped ? "stopped" : "running",
    since: 1,
    restarts: 0,
    spec: { name, image, environments: [{ key: "SITE", value: "***" }] },
    last_deployment: null,
    ...(revision !== undefined && {
      fleet: { name: MEMBER_FLEET, revision, deployment_id: "dep_1", is_changed: isChanged },
    }),
  };
}

function toTarget({ revision, kind, state }: ModelTarget): MemberTarget {
  return {
    kind,
    rolloutState: "running",
    revision,
    direction: "forward",
    state,
    waitsFor: state === "waiting" ? "window" : undefined,
    dueMs: undefined,
    message: undefined,
  };
}
