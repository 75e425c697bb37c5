import { formatTimes } from "../text.ts";
import { type CheckId, type CheckResult, type CheckResults, checkOf } from "./checks.ts";

/** What systemd reports about the agent's service. */
export interface ServiceFacts {
  /** `loaded`, `not-found`, `masked`, `bad-setting` or `error`. */
  readonly load: string;
  /** `active`, `inactive`, `failed`, `activating`, `deactivating`, `reloading`. */
  readonly active: string;
  readonly sub: string;
  /** How its last run ended: `success`, `exit-code`, `oom-kill`, `signal`, `watchdog`, `exec-condition` and others. */
  readonly result: string;
  /** Exit code of its last run, or the number of the signal that ended it. */
  readonly status: number;
  /** Exit code of the unit's condition: 1 if the device was not enrolled, or systemd's own if it could not run that. */
  readonly conditionStatus: number;
  /** Process id of the running agent; 0 if none runs. */
  readonly pid: number;
  readonly restarts: number;
  /** As systemd prints it; empty if the state has never changed. */
  readonly since: string;
  /** `enabled`, `disabled`, `masked` and others. */
  readonly atBoot: string;
  /** The unit's user, if there is none of that name. */
  readonly missingUser: string | undefined;
  /** The unit's first group that does not exist. */
  readonly missingGroup: string | undefined;
  /** Whether the unit's file is newer than what systemd has read. */
  readonly isStale: boolean;
  /** Last lines of the agent's journal. */
  readonly journal: readonly string[];
}

/** The checks whose failure keeps the agent from starting. */
const START_CHECKS: readonly CheckId[] = ["config", "credentials", "permissions", "store"];

/** Exit codes of systemd itself, before it executes the agent: systemd.exec(5). */
const FIRST_SYSTEMD_STATUS = 200;
const STATUS_GROUP = 216;
const STATUS_NAMESPACE = 226;
const SYSTEMD_STATUSES: Readonly<Record<number, string>> = {
  203: "the program cannot be executed",
  [STATUS_GROUP]: "a group of the unit does not exist",
  217: "the unit's user does not exist",
  [STATUS_NAMESPACE]: "a directory that the unit names does not exist or cannot be mounted",
  238: "its state directory cannot be made",
};

const JOURNAL = "sudo journalctl -u edge-agent -n 50";

/**
 * Judges the service. A service that ends at each start is explained by the first other check that fails.
 *
 * @param others results of the other checks
 * @param answering process id of the agent that answers at the socket, however it was started
 */
export function judgeService(
  facts: ServiceFacts,
  others: CheckResults,
  answering: number | undefined,
): CheckResult | undefined {
  const foreign = answering !== undefined && answering !== facts.pid;
  if (facts.load === "not-found") return undefined;
  // One that ends at each start is for moments one that starts; at its first start systemd may not know its process yet.
  if (foreign && (!isStarting(facts) || facts.restarts > 0))
    return bad(
      `Another agent runs beside the service, as process ${answering}.`,
      `sudo kill ${answering}; sudo systemctl restart edge-agent`,
    );
  if (facts.load === "masked")
    return bad(
      "The service is masked: it cannot be started.",
      "sudo systemctl unmask edge-agent && sudo systemctl enable --now edge-agent",
    );
  if (facts.load !== "loaded")
    return bad(`systemd cannot read the unit (${facts.load}).`, "systemd-analyze verify edge-agent.service");
  if (facts.active === "active" || facts.active === "reloading") return judgeRunning(facts);
  if (facts.missingUser !== undefined)
    return bad(
      `The service cannot start: the unit's user ${facts.missingUser} does not exist.`,
      "Correct User= of the unit (systemctl cat edge-agent), or make the package's user again: sudo systemd-sysusers; then: sudo systemctl restart edge-agent",
    );
  if (lacksGroup(facts))
    return bad(
      `The service cannot start: the unit's group ${facts.missingGroup} does not exist.`,
      "Make the package's groups again: sudo systemd-sysusers, or correct SupplementaryGroups= of the unit (systemctl cat edge-agent); then: sudo systemctl restart edge-agent",
    );
  if (isUnprepared(facts)) return judgeFailing(facts, others);
  if (facts.result === "exec-condition") return judgeUnenrolled(others);
  if (facts.result !== "success" || facts.sub === "auto-restart") return judgeFailing(facts, others);
  const start = facts.atBoot === "disabled" ? "enable --now" : "start";
  const cause = START_CHECKS.map((id) => others.get(id)).find((result) => result?.verdict === "bad");
  // One that ends at each start is for moments one that starts.
  if (isStarting(facts) && facts.restarts > 0 && cause) return judgeFailing(facts, others);
  if (isStarting(facts)) return { verdict: "good", text: "It is starting." };
  const command = `sudo systemctl ${start} edge-agent`;
  return bad(`${describeState(facts)}.`, cause ? mendThen(cause, command) : command);
}

/** The unit starts nothing before the device is enrolled, and is not started again by the enrolment. */
function judgeUnenrolled(others: CheckResults): CheckResult {
  const isEnrolled = others.get("config")?.verdict !== "bad" && others.get("credentials")?.verdict !== "bad";
  if (!isEnrolled) return { verdict: "skipped", text: "The service is not started before the device is enrolled." };
  return bad("The service was not started since the device was enrolled.", "sudo systemctl restart edge-agent");
}

function judgeRunning(facts: ServiceFacts): CheckResult {
  if (facts.atBoot === "disabled")
    return warning("It runs, but is not started when the device boots.", "sudo systemctl enable edge-agent");
  if (facts.isStale)
    return warning(
      "The unit's file was changed after systemd has read it.",
      "sudo systemctl daemon-reload && sudo systemctl restart edge-agent",
    );
  return { verdict: "good", text: `It runs${facts.since === "" ? "" : ` since ${facts.since}`}.` };
}

function judgeFailing(facts: ServiceFacts, others: CheckResults): CheckResult {
  const text = isUnprepared(facts)
    ? `The service cannot start: ${describeUnprepared(facts)}`
    : `The service ends at each start: ${describeEnd(facts)}`;
  const retry = "sudo systemctl restart edge-agent";
  for (const id of START_CHECKS) {
    const cause = others.get(id);
    if (cause?.verdict === "bad") return bad(`${text}. ${checkOf(id).title}: ${cause.text}`, mendThen(cause, retry));
  }
  // Where the kernel does not tell systemd (cgroup v1), lack of memory is a SIGKILL as any other.
  if (facts.result === "oom-kill" || (facts.result === "signal" && facts.status === 9))
    return bad(
      `${text}.`,
      "See what takes the memory: free -m; systemctl show edge-agent -p MemoryMax; journalctl -k -g oom; then: " +
        retry,
    );
  const status = isUnprepared(facts) ? facts.conditionStatus : facts.status;
  const own = /^(?:edge-agent\.service|systemd)\b|^(?:Started|Starting|Stopped|Condition check resulted) /;
  const last = ownWords(facts) ?? (isUnprepared(facts) ? undefined : facts.journal.findLast((line) => !own.test(line)));
  return bad(
    `${text}.${last === undefined ? "" : ` Its last words: ${last}`}`,
    status === STATUS_NAMESPACE
      ? `See which: systemctl show edge-agent -p ReadWritePaths -p ReadOnlyPaths -p BindPaths; mount its disk, or make it; then: ${retry}`
      : `Look for the cause: ${JOURNAL}; then: ${retry}`,
  );
}

/** What systemd says of a process that it could not prepare. */
function ownWords({ journal }: ServiceFacts): string | undefined {
  const said = /^edge-agent\.service: (Failed to (?:set up|determine|execute|load|change|drop) .*)/;
  return journal.map((line) => said.exec(line)?.[1]).findLast((text) => text !== undefined);
}

function mendThen({ next = "" }: CheckResult, command: string): string {
  return `${next.replace(/\.$/, "")}; then: ${command}`;
}

/** Whether systemd could not start it for lack of a group. */
function lacksGroup({ missingGroup, status, conditionStatus }: ServiceFacts): boolean {
  return missingGroup !== undefined && [status, conditionStatus].includes(STATUS_GROUP);
}

/**
 * Whether systemd could not prepare the process of the unit's condition. It takes that for a condition that is not met,
 * and does not try again.
 */
function isUnprepared({ result, conditionStatus }: ServiceFacts): boolean {
  return result === "exec-condition" && conditionStatus >= FIRST_SYSTEMD_STATUS;
}

function describeUnprepared({ conditionStatus }: ServiceFacts): string {
  return SYSTEMD_STATUSES[conditionStatus] ?? `systemd could not prepare it (status ${conditionStatus})`;
}

/** Describes how the last run ended, such as `killed, out of memory`. */
function describeEnd({ result, status, restarts }: ServiceFacts): string {
  const ends: Readonly<Record<string, string>> = {
    "exit-code": SYSTEMD_STATUSES[status] ?? `exit code ${status}`,
    "oom-kill": "killed for lack of memory",
    signal: `killed by signal ${status}`,
    "core-dump": `crashed by signal ${status}`,
    watchdog: "it hung, and the watchdog killed it",
    timeout: "it was not ready in time",
    resources: "systemd could not prepare its start",
    success: "it could not begin its work",
  };
  return `${ends[result] ?? result}${restarts > 0 ? `, started again ${formatTimes(restarts)}` : ""}`;
}

/** Describes the state in a sentence without a stop. */
export function describeState(facts: ServiceFacts): string {
  const since = facts.since === "" ? "" : ` since ${facts.since}`;
  if (facts.load === "masked") return "The service is masked";
  if (facts.missingUser !== undefined)
    return `The service cannot start: the unit's user ${facts.missingUser} does not exist`;
  if (lacksGroup(facts)) return `The service cannot start: the unit's group ${facts.missingGroup} does not exist`;
  if (isUnprepared(facts)) return `The service cannot start: ${describeUnprepared(facts)}`;
  if (facts.result === "exec-condition") return "The service was not started: the device was not enrolled then";
  if (facts.active === "inactive" && facts.result === "success")
    return `The service is stopped${facts.atBoot === "disabled" ? " and disabled" : ""}${since}`;
  const end = facts.result === "success" || facts.result === "" ? "" : `, ended: ${describeEnd(facts)}`;
  return `The service is ${facts.active} (${facts.sub})${end}${since}`;
}

function isStarting({ active, sub }: ServiceFacts): boolean {
  return active === "activating" && sub !== "auto-restart";
}

function bad(text: string, next: string): CheckResult {
  return { verdict: "bad", text, next };
}

function warning(text: string, next: string): CheckResult {
  return { verdict: "warning", text, next };
}
