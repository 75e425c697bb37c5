import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { DataPlanSettings } from "../../api/types.ts";

/** The account's settings of data plans. */
export function usePlanSettings(enabled = true): UseQueryResult<DataPlanSettings> {
  return useQuery({
    queryKey: KEYS.dataPlanSettings,
    queryFn: ({ signal }) => call("GET /v1/data-plan-settings", { signal }),
    enabled,
  });
}
