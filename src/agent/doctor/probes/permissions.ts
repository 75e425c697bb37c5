import { access, constants, stat } from "node:fs/promises";
import type { Exposure } from "../../core/host/exposure.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { findUnresolvedDenyRules, type UnresolvedDenyRule } from "../../core/policy/unresolved-deny-rules.ts";
import { findExposedFiles } from "../../host/exposed-files.ts";
import { resolveAsUser } from "../../host/resolve-as-user.ts";
import { bad, configOf, good, type ProbeContext, type Probe, warning } from "../probe.ts";

/** How many commands to mend permissions, and entries of `deny`, are shown at once. */
const MAX_SHOWN_COMMANDS = 5;

/**
 * Nobody else can read the token or the state, nor change what the agent goes by; the state can be written; and the
 * agent can see where denied paths lead.
 */
export const probePermissions: Probe = async (patient) => {
  const [verdict, unseen] = await Promise.all([probeAgentFiles(patient), unresolvedDenyRules(patient)]);
  const [first, ...others] = unseen;
  if (!first) return verdict;
  const more = others.length > 0 ? ` And ${others.length} more of this kind.` : "";
  const text = `${first.text}${more}`;
  const next = unseen
    .slice(0, MAX_SHOWN_COMMANDS)
    .map((denial) => denial.next)
    .join(" ");
  if (verdict.verdict === "good") return warning(text, next);
  return { ...verdict, text: `${verdict.text} ${text}`, next: `${verdict.next ?? ""}; ${next}` };
};

/** As the service's user sees it, who owns the state. Root sees more, and others may see less. */
async function unresolvedDenyRules(patient: ProbeContext): Promise<UnresolvedDenyRule[]> {
  const { policy, state_dir } = configOf(patient);
  const owner = await stat(state_dir).catch(() => undefined);
  const uid = process.geteuid?.();
  if (uid === 0 && owner) return await findUnresolvedDenyRules(policy, (path) => resolveAsUser(path, owner));
  if (owner && owner.uid !== uid) return [];
  return await findUnresolvedDenyRules(policy, (path) => patient.host.resolvePath(path));
}

async function probeAgentFiles(patient: ProbeContext): Promise<CheckResult> {
  const config = configOf(patient);
  const state = await stat(config.state_dir).catch(() => undefined);
  if (state && !state.isDirectory()) {
    return bad(`${config.state_dir} is no directory.`, "Set state_dir to a directory.");
  }
  const exposed = findExposedFiles(config);
  if (exposed.length > 0) return describe(exposed);
  if (!state) return good(`${config.state_dir} does not exist yet; the agent makes it.`);
  try {
    await access(config.state_dir, constants.W_OK | constants.R_OK);
  } catch {
    // Somebody else than the service may look here without the right to write.
    return state.uid === process.getuid?.()
      ? bad(
          `${config.state_dir} cannot be written.`,
          `Is the file system mounted read-only? mount | grep " / ", and dmesg for errors of the disk.`,
        )
      : good(`${config.state_dir} belongs to another user; run as root to look into it.`);
  }
  return good("The token and the state are private, and the state can be written.");
}

function describe(exposed: readonly Exposure[]): CheckResult {
  const grave = exposed.filter(({ isMinor }) => !isMinor);
  const [first, ...others] = grave.length > 0 ? grave : exposed;
  const more = others.length > 0 ? ` And ${others.length} more of this kind.` : "";
  const commands = [first, ...others].slice(0, MAX_SHOWN_COMMANDS).map((exposure) => exposure?.next ?? "");
  return (grave.length > 0 ? bad : warning)(`${first?.text ?? ""}${more}`, commands.join("; "));
}
