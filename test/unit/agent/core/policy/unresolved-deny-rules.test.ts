import { pino } from "pino";
import { expect, it } from "vitest";
import { pathWithoutLinks } from "../../../../../src/agent/core/policy/resolved-path.ts";
import { findUnresolvedDenyRules } from "../../../../../src/agent/core/policy/unresolved-deny-rules.ts";
import { reportUnresolvedDenyRules } from "../../../../../src/agent/daemon/report-unresolved-deny-rules.ts";

const unseen = (path: string, reason: string) => async (entry: string) => ({
  ...pathWithoutLinks(entry),
  ...(entry.startsWith(path) && { unresolved: { path, reason } }),
});
const REST = { privileged: false, host_network: false, registries: { allow: [] } };

it("finds the entries of deny that only apply as written", async () => {
  const policy = {
    ...REST,
    mounts: { allow: ["/home/alice"], deny: ["/etc", "/home/alice/store/x"] },
    devices: { allow: [], deny: ["/home/alice/store/disk", "/dev/sda"] },
  };
  const found = await findUnresolvedDenyRules(policy, unseen("/home/alice/store", "EACCES"));
  expect(found.map(({ entry }) => entry)).toEqual(["/home/alice/store/x", "/home/alice/store/disk"]);
  expect(found[0]).toEqual({
    entry: "/home/alice/store/x",
    text: "policy.mounts.deny denies /home/alice/store/x only as written: /home/alice/store could not be examined (no permission to look into its directory).",
    next: "If /home/alice/store is a link, or leads through one, list the path it leads to in policy.mounts.deny too.",
  });
  expect(found[1]?.text).toContain("policy.devices.deny denies /home/alice/store/disk");
  expect((await findUnresolvedDenyRules(policy, unseen("/home", "EIO")))[0]?.text).toContain("(EIO)");
  expect(await findUnresolvedDenyRules(policy, unseen("/other", "EACCES"))).toEqual([]);
  expect(await findUnresolvedDenyRules({ ...REST, mounts: { allow: [], deny: [] } }, unseen("/", "EACCES"))).toEqual(
    [],
  );
});

it("logs ten of them at the daemon's start, and how many more there are", async () => {
  const log: string[] = [];
  const logger = pino({}, { write: (line: string) => void log.push(line) });
  const deny = Array.from({ length: 12 }, (_, index) => `/home/${index}`);
  const policy = { ...REST, mounts: { allow: [], deny } };
  await reportUnresolvedDenyRules(policy, { resolvePath: unseen("/home", "EACCES") }, logger);
  expect(log).toHaveLength(11);
  expect(log[9]).toContain("policy.mounts.deny denies /home/9 only as written");
  expect(JSON.parse(log[10] ?? "")).toMatchObject({ count: 2 });
});
