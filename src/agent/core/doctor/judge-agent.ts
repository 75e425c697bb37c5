import { type CheckId, type CheckResult, type CheckResults, failedChecks } from "./checks.ts";

/** Something that is wrong, as the agent sees it. The source of `edge-agent status` and of `edge-agent doctor`. */
export interface Trouble {
  /** What of the device is in trouble. */
  readonly kind: "link" | "engine" | "disk" | "state" | "clock" | "app";
  /** A sentence. */
  readonly text: string;
  /** What a person can do about it; the doctor knows more about those without. */
  readonly next?: string;
}

/** The checks that explain a trouble of the agent. */
const EXPLAINED_BY: Readonly<Record<Trouble["kind"], readonly CheckId[]>> = {
  link: ["config", "credentials", "clock", "interface", "modem", "dns", "tcp", "proxy", "tls", "token"],
  engine: ["engine", "publishing"],
  disk: ["disk"],
  state: ["permissions", "disk"],
  clock: ["clock"],
  app: [],
};

/** What is wrong as the agent sees it, or why it cannot be asked. */
export type AgentAnswer =
  | readonly Trouble[]
  | { readonly reason: "down" | "hung" | "forbidden"; readonly text: string };

const NEXT: Readonly<Record<Trouble["kind"], string>> = {
  link: "The path to the control plane works now, and the agent tries again by itself; at once: sudo systemctl restart edge-agent",
  engine: "See the engine's own log: sudo journalctl -u docker",
  disk: "Free space there: sudo docker system df",
  state: "See again with: edge-agent status",
  clock: "Check the time: timedatectl",
  app: "edge-agent app NAME",
};

/**
 * Judges the running agent by what it reports. What another check has found already is not repeated.
 */
export function judgeAgent(answer: AgentAnswer, others: CheckResults): CheckResult {
  const failed = failedChecks(others);
  if ("reason" in answer) {
    if (answer.reason === "forbidden") return { verdict: "skipped", text: "This user may not ask it: run as root." };
    if (failed.includes("service") || others.get("service")?.verdict === "skipped")
      return { verdict: "skipped", text: "It does not run." };
    return { verdict: "bad", text: `${answer.text}.`, next: "sudo systemctl restart edge-agent" };
  }
  const open = answer.filter(({ kind }) => !EXPLAINED_BY[kind].some((id) => failed.includes(id)));
  if (open.length > 0) {
    const next = [...new Set(open.map((trouble) => trouble.next ?? NEXT[trouble.kind]))].join("; ");
    return { verdict: "bad", text: open.map(({ text }) => text).join(" "), next };
  }
  if (answer.length > 0) return { verdict: "skipped", text: "What it reports is found above." };
  return { verdict: "good", text: "It answers, and reports no trouble." };
}
