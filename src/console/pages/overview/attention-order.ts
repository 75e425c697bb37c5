import type { AttentionReason } from "../../../protocol/attention.ts";
import { REASONS } from "../../parts/reason.tsx";

/** The reasons in the order of display. */
export const ATTENTION_ORDER = Object.keys(REASONS) as readonly AttentionReason[];
