type CType = "i32" | "u32" | "i64" | "u64" | "pointer";

interface Signature {
  readonly arguments: readonly CType[];
  readonly return: CType;
}

/** An integer of 64 bits is a bigint. */
type CFunction = (...args: readonly (number | bigint | Uint8Array)[]) => number | bigint;

/**
 * Node.js 26.12 makes machine code for functions of up to eight parameters, and throws where that is forbidden, as by the
 * packaged unit. Those of more are called without; a C function ignores arguments that it does not know.
 */
const MIN_PARAMETERS = 9;

/** Returns functions of the C library; `undefined` if this Node.js cannot call them. */
export function loadLibc<Name extends string>(
  signatures: Readonly<Record<Name, Signature>>,
): Readonly<Record<Name, CFunction>> | undefined {
  const names = Object.keys(signatures) as Name[];
  try {
    // Not imported: loading it costs a megabyte. Never closed: this is the libc already loaded into the process.
    const { functions } = process
      .getBuiltinModule("node:ffi")
      .dlopen(null, Object.fromEntries(names.map((name) => [name, padded(signatures[name])])));
    const all = functions as unknown as Readonly<Record<Name, CFunction>>;
    const withPadding = (name: Name): CFunction => {
      const padding = Array.from({ length: missing(signatures[name]) }, () => 0);
      return (...args) => all[name](...args, ...padding);
    };
    return Object.fromEntries(names.map((name) => [name, withPadding(name)])) as Record<Name, CFunction>;
  } catch {
    return undefined;
  }
}

const missing = (signature: Signature): number => MIN_PARAMETERS - signature.arguments.length;

function padded(signature: Signature) {
  const padding = Array.from({ length: missing(signature) }, () => "i32" as const);
  return { arguments: [...signature.arguments, ...padding], return: signature.return };
}
