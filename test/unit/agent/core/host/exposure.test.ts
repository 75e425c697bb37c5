import { describe, expect, it } from "vitest";
import { type FileStat, findExposure, type PermissionRule } from "../../../../../src/agent/core/host/exposure.ts";

const AGENT = 990;
const trusted = { uids: [0, AGENT], gids: [0, AGENT], expectedOwner: AGENT };

function look(protection: PermissionRule, facts: Partial<FileStat>, allowed?: number): string | undefined {
  const file = { path: "/x/file", isDirectory: false, mode: 0o600, uid: AGENT, gid: AGENT, ...facts };
  return findExposure(file, protection, trusted, allowed)?.next;
}

describe("what other users can do with a file of the agent", () => {
  it.each<[PermissionRule, Partial<FileStat>, string | undefined]>([
    ["read", { mode: 0o600 }, undefined],
    ["read", { mode: 0o640 }, "chmod go-rwx /x/file"],
    ["read", { mode: 0o604 }, "chmod go-rwx /x/file"],
    ["shared", { mode: 0o640 }, undefined],
    ["shared", { mode: 0o660 }, undefined],
    ["shared", { mode: 0o660, gid: 1000 }, "chmod g-w /x/file"],
    ["shared", { mode: 0o644 }, "chmod o-rwx /x/file"],
    ["write", { mode: 0o644 }, undefined],
    ["write", { mode: 0o666, gid: 1000 }, "chmod g-w,o-w /x/file"],
    ["replace", { mode: 0o755, isDirectory: true, uid: 0 }, undefined],
    ["replace", { mode: 0o777, isDirectory: true, uid: 0 }, "chmod o-w /x/file"],
    ["replace", { mode: 0o1777, isDirectory: true, uid: 0 }, undefined],
    // A group of the system itself, and one user's own.
    ["replace", { mode: 0o775, isDirectory: true, uid: 0, gid: 50 }, undefined],
    ["replace", { mode: 0o775, isDirectory: true, uid: 0, gid: 1000 }, "chmod g-w /x/file"],
    ["read", { uid: 1000 }, "chown 990 /x/file"],
    ["replace", { uid: 1000, mode: 0o1777, isDirectory: true }, "chown 990 /x/file"],
    ["read", { mode: 0o644, path: "/x/it's here" }, `chmod go-rwx '/x/it'\\''s here'`],
  ])("%s %o: %s", (protection, facts, next) => {
    expect(look(protection, facts)).toBe(next);
  });

  it("is less if more is allowed, and minor if only names are exposed", () => {
    expect(look("read", { mode: 0o711, isDirectory: true }, 0o711)).toBeUndefined();
    const directory = { path: "/x", isDirectory: true, mode: 0o755, uid: 0, gid: 0 };
    expect(findExposure(directory, "read", trusted)).toMatchObject({ isMinor: true });
    expect(findExposure({ ...directory, mode: 0o757 }, "read", trusted)).toMatchObject({ isMinor: false });
  });
});
