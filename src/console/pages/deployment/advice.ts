/** What to do about a failed deployment, for a person at the console. */
export interface Advice {
  /** What is in the way, where the details say it. */
  readonly facts: readonly string[];
  readonly next: string | undefined;
  /** Output of the app or of its health check, oldest line first. */
  readonly output: readonly string[];
}

type Details = Readonly<Record<string, unknown>>;

/** Hints for codes whose hint in the error table is meant for programs. */
const CONSOLE_HINTS: Readonly<Record<string, string>> = {
  ErrorPortInUse: "Choose another port on the device, or stop what has this one.",
  ErrorNodePortIsNotCorrectRange: "Choose a port on the device from 30000 to 32767.",
  ErrorNoName: "Give the app a name.",
  ErrorNoImage: "Give the app an image.",
  InvalidRequest: "Correct the fields named above and try again.",
  AppExists: "Open the app and update it, remove it first, or deploy under another name.",
  ErrorDeploymentAlreadyExist: "Wait for the other deployment of this app to end; it is in the list of deployments.",
  DeviceNotReachable: "Check the device's power, antenna and SIM. The form can wait for the device.",
  CrashLoopBackOff: "The last lines of the app are below. An app that ends by itself needs another restart policy.",
  Unhealthy: "The output of the health check is below. If the app needs longer to start, give it more time.",
  InsufficientDisk: "Remove apps, volumes or images that are no longer needed from the device, then try again.",
  StateNotWritable:
    "The device's disk is read-only or fails. Check it on the device: edge-agent doctor says what to try.",
  DataBudgetExceeded: "Allow a larger download in the form, or wait for the device's next budget period.",
  PolicyDenied: "The device's own configuration decides this, under policy: change it there, or change the app.",
  RegistryAuthLost: "Deploy again, with the credentials of the registry.",
  ImagePullBackOff: "Check the image's name and tag, and the credentials of its registry.",
  DeploymentTimeout: "Check the device's link and the size of the image, then try again.",
  DeploymentCancelled: "It was cancelled; deploy again if that was not intended.",
};

/** Of a deployment that an allowance of a SIM has kept back, and not the device's own budget. */
const PLAN_HINT = "Mark it as urgent, set a larger allowance among the asset's SIMs, or wait for the next month.";

/** The hint for a code, for people at the console; `undefined` where only the error table has one. */
function consoleHint(code: string | undefined): string | undefined {
  return code === undefined || !Object.hasOwn(CONSOLE_HINTS, code) ? undefined : CONSOLE_HINTS[code];
}

/** Entries of `details` that are shown in their own place, or mean nothing to people. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  "next",
  "logs",
  "output",
  "holder",
  "host_port",
  "protocol",
  "issues",
  "plan",
  "plan_hash",
  "timings",
  // The message says so.
  "sim_type",
  "waiting_until",
  "previous",
  "rolled_back",
]);

/** Returns what to do about a failure: what the device says first, then what is known of the code. */
export function adviceFor(code: string | undefined, details: Details = {}, tableHint?: string): Advice {
  const next = typeof details["next"] === "string" ? details["next"] : undefined;
  const isPlan = code === "DataBudgetExceeded" && details["sim_type"] !== undefined;
  return {
    facts: [...portFacts(details), ...issueFacts(details), ...otherFacts(details)],
    next: next ?? (isPlan ? PLAN_HINT : undefined) ?? consoleHint(code) ?? tableHint,
    output: [...linesOf(details["output"]), ...linesOf(details["logs"])],
  };
}

function portFacts({ host_port: port, protocol, holder }: Details): string[] {
  if (typeof port !== "number") return [];
  const name = `Port ${port}${protocol === "udp" ? "/udp" : ""}`;
  return [`${name} of the device is held by ${holderText(holder)}.`];
}

function holderText(holder: unknown): string {
  const { kind, name, pid } = (typeof holder === "object" && holder !== null ? holder : {}) as Details;
  const called = typeof name === "string" ? ` ${name}` : "";
  switch (kind) {
    case "app":
      return `the app${called}`;
    case "deployment":
      return `a running deployment of the app${called}`;
    case "container":
      return `the container${called}, which edge-agent does not manage`;
    case "process":
      return `${called === "" ? "a program" : `the program${called}`}${typeof pid === "number" ? ` (process ${pid})` : ""}`;
    case "request":
      return "another entry of the same request";
    default:
      return "something else";
  }
}

function issueFacts({ issues }: Details): string[] {
  if (!Array.isArray(issues)) return [];
  return issues.flatMap((issue: unknown) => {
    const { path, reason } = (typeof issue === "object" && issue !== null ? issue : {}) as Details;
    return typeof path === "string" && typeof reason === "string" ? [`${path || "The request"}: ${reason}`] : [];
  });
}

function otherFacts(details: Details): string[] {
  return Object.entries(details).flatMap(([name, value]) => {
    if (SHOWN_ELSEWHERE.has(name) || value === null || value === undefined || value === false) return [];
    if (name === "oom_killed") return ["It needed more memory than it may have, or than the device has."];
    return [`${label(name)}: ${typeof value === "string" ? value : JSON.stringify(value)}`];
  });
}

function label(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Lines of a log in details: a text, texts, or objects with a text. */
function linesOf(value: unknown): string[] {
  if (typeof value === "string") return value.replace(/\n$/, "").split("\n");
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: unknown) => {
    if (typeof each === "string") return [each];
    const { text } = (typeof each === "object" && each !== null ? each : {}) as Details;
    return typeof text === "string" ? [text] : [];
  });
}
