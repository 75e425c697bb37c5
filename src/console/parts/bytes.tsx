import type { ReactNode } from "react";
import { formatBytes } from "./format-bytes.ts";

/** A number of bytes; the exact one is its title. */
export function Bytes({ value }: { readonly value: number }): ReactNode {
  return <span title={`${value.toLocaleString("en")} bytes`}>{formatBytes(value)}</span>;
}
