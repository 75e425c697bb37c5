import { access, constants, stat } from "node:fs/promises";
import type { Exposure } from "../../core/host/exposure.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { findUnresolvedDenyRules, type UnresolvedDenyRule } from "../../core/policy/unresolved-deny-rules.ts";
import { findExposedFiles } from "../../host/exposed-files.ts";
import { resolveAsUser } from "../../host/resolve-as-user.ts";
import { bad, configOf, good, type ProbeContext, type Probe, warning } from "../probe.ts";

/** Maximum number of commands, and of entries of `deny`, in one result. */
const MAX_SHOWN_COMMANDS = 5;

/**
 * Token and state are private, other users cannot change files that the agent relies on, the state is writable, and the
 * agent can resolve denied paths.
 */
export const probePermissions: Probe = async (context) => {
  const [verdict, unresolved] = await Promise.all([probeAgentFiles(context), unresolvedDenyRules(context)]);
  const [first, ...others] = unresolved;
  if (!first) return verdict;
  const more = others.length > 0 ? ` And ${others.length} more of this kind.` : "";
  const text = `${first.text}${more}`;
  const next = unresolved
    .slice(0, MAX_SHOWN_COMMANDS)
    .map((rule) => rule.next)
    .join(" ");
  if (verdict.verdict === "good") return warning(text, next);
  return { ...verdict, text: `${verdict.text} ${text}`, next: `${verdict.next ?? ""}; ${next}` };
};

/** Checks as the service's user, who owns the state: root can resolve more, other users less. */
async function unresolvedDenyRules(context: ProbeContext): Promise<UnresolvedDenyRule[]> {
  const { policy, state_dir } = configOf(context);
  const owner = await stat(state_dir).catch(() => undefined);
  const uid = process.geteuid?.();
  if (uid === 0 && owner) return await findUnresolvedDenyRules(policy, (path) => resolveAsUser(path, owner));
  if (owner && owner.uid !== uid) return [];
  return await findUnresolvedDenyRules(policy, (path) => context.host.resolvePath(path));
}

async function probeAgentFiles(context: ProbeContext): Promise<CheckResult> {
  const config = configOf(context);
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
    // Another user than the service's may run this without write access.
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
  const severe = exposed.filter(({ isMinor }) => !isMinor);
  const [first, ...others] = severe.length > 0 ? severe : exposed;
  const more = others.length > 0 ? ` And ${others.length} more of this kind.` : "";
  const commands = [first, ...others].slice(0, MAX_SHOWN_COMMANDS).map((exposure) => exposure?.next ?? "");
  return (severe.length > 0 ? bad : warning)(`${first?.text ?? ""}${more}`, commands.join("; "));
}
