import type { Plugin } from "rolldown";

const PREFIX = "\0left-out:";

/** Packages a bundle does without. */
export interface StubbedPackages {
  /** Imported by a library in any case, and never used: can be loaded, and throws an error that names it when called. */
  readonly unused: readonly string[];
  /** Used by a library where they happen to be installed: cannot be loaded, so that it takes its other way. */
  readonly absent: readonly string[];
}

/** Keeps packages out of a bundle although something in it imports them. */
export function stubPackages({ unused, absent }: StubbedPackages): Plugin {
  return {
    name: "leave-out",
    resolveId: (id) => (unused.includes(id) || absent.includes(id) ? PREFIX + id : null),
    load(id) {
      if (!id.startsWith(PREFIX)) return null;
      const name = id.slice(PREFIX.length);
      return absent.includes(name) ? `throw new Error(${JSON.stringify(`${name} is not installed`)});` : stub(name);
    },
  };
}

const stub = (name: string): string => `
  function leftOut() { throw new Error(${JSON.stringify(`${name} is not part of this build`)}); }
  module.exports = new Proxy(leftOut, { get: (_, property) => (property === "__esModule" ? undefined : leftOut) });
`;
