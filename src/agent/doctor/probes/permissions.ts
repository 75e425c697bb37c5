import { existsSync } from "node:fs";
import { open, readlink, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { userInfo } from "node:os";
import type { Exposure } from "../../core/host/exposure.ts";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { findUnresolvedDenyRules, type UnresolvedDenyRule } from "../../core/policy/unresolved-deny-rules.ts";
import { findExposedFiles } from "../../host/exposed-files.ts";
import { describeDiskFault } from "../../core/host/disk-fault.ts";
import { resolveAsUser } from "../../host/resolve-as-user.ts";
import { bad, good, type ProbeContext, type Probe, settingsOf, warning } from "../probe.ts";

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
  const { policy, state_dir } = settingsOf(context);
  // Before the first start there is no directory.
  const owner = await stat(state_dir).catch(() => undefined);
  const uid = process.geteuid?.();
  if (uid === 0 && owner) return await findUnresolvedDenyRules(policy, (path) => resolveAsUser(path, owner));
  if (owner && owner.uid !== uid) return [];
  return await findUnresolvedDenyRules(policy, (path) => context.host.resolvePath(path));
}

async function probeAgentFiles(context: ProbeContext): Promise<CheckResult> {
  const settings = settingsOf(context);
  const { state_dir: directory } = settings;
  const state = await stat(directory).catch((error: NodeJS.ErrnoException) => error);
  if (state instanceof Error) {
    if (state.code === "ENOENT") return await describeMissing(directory);
    if (state.code === "EACCES" && !context.isService)
      return good(`${directory} cannot be looked into; run as root to look into it.`);
    const next = `Let the service's user enter the directories above it: namei --long ${directory}`;
    return bad(`${directory} cannot be looked into: ${state.message}.`, next);
  }
  if (!state.isDirectory())
    return bad(`${directory} is no directory.`, `Move it away: sudo mv ${directory} ${directory}.file`);
  const fault = await tryWrite(directory);
  // Another user than the service's may run this without write access.
  if (fault !== undefined && fault.code === "EACCES" && !context.isService && state.uid !== process.getuid?.())
    return good(`${directory} belongs to another user; run as root to look into it.`);
  if (fault !== undefined) return describeFault(fault, directory);
  const exposed = findExposedFiles({ ...settings, path: context.configPath });
  if (exposed.length > 0) return describe(exposed);
  return good("The token and the state are private, and the state can be written.");
}

/** A link whose target is not there usually leads to a disk that is not mounted. The agent does not make that target. */
async function describeMissing(directory: string): Promise<CheckResult> {
  // Not a link: it is not there at all.
  const target = await readlink(directory).catch(() => undefined);
  if (target === undefined) return good(`${directory} does not exist yet; the agent makes it.`);
  return bad(
    `${directory} is a link to ${target}, which is not there.`,
    `Mount the disk that it is on, or, if the agent is to begin without its data: sudo mkdir -p ${target}`,
  );
}

/** Writes a file, flushes it and removes it. What access(2) says, a disk that fails does not keep. */
async function tryWrite(directory: string): Promise<NodeJS.ErrnoException | undefined> {
  const path = join(directory, `.doctor-${process.pid}`);
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(Buffer.alloc(4096));
    await file.sync();
    const store = join(directory, "agent.db");
    if (existsSync(store)) await (await open(store, "r+")).close();
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  } finally {
    // What could not be written cannot be removed either; the reason is told already.
    await rm(path, { force: true }).catch(() => undefined);
  }
}

function describe(exposed: readonly Exposure[]): CheckResult {
  const severe = exposed.filter(({ isMinor }) => !isMinor);
  const [first, ...others] = severe.length > 0 ? severe : exposed;
  const more = others.length > 0 ? ` And ${others.length} more of this kind.` : "";
  const commands = [first, ...others].slice(0, MAX_SHOWN_COMMANDS).map((exposure) => exposure?.next ?? "");
  return (severe.length > 0 ? bad : warning)(`${first?.text ?? ""}${more}`, commands.join("; "));
}

function describeFault(error: NodeJS.ErrnoException, directory: string): CheckResult {
  const { text, next } = describeDiskFault(error.code ?? error.message, directory, userInfo().username);
  return bad(text, next);
}
