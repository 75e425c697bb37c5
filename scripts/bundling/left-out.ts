import type { Plugin } from "rolldown";

const PREFIX = "\0left-out:";

/**
 * Replaces packages by one that can be imported but not used: whatever is called on it throws an error that names the
 * package.
 */
export function leaveOut(packages: readonly string[]): Plugin {
  return {
    name: "leave-out",
    resolveId: (id) => (packages.includes(id) ? PREFIX + id : null),
    load: (id) => (id.startsWith(PREFIX) ? stub(id.slice(PREFIX.length)) : null),
  };
}

const stub = (name: string): string => `
  function leftOut() { throw new Error(${JSON.stringify(`${name} is not part of this build`)}); }
  module.exports = new Proxy(leftOut, { get: (_, property) => (property === "__esModule" ? undefined : leftOut) });
`;
