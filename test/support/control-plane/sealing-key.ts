import { randomBytes } from "node:crypto";
import type { SealingKey } from "../../../src/control-plane/sealing/aes-sealer.ts";

export function someSealingKey(): SealingKey {
  return { id: `key_${randomBytes(12).toString("hex")}`, bytes: randomBytes(32) };
}
