import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { AssetUpdate } from "../../api/types.ts";
import { forgetSims } from "./sim-queries.ts";

/** Changes an asset. Parts of a change may have been made when it fails, so the asset is fetched again either way. */
export function useAssetUpdate(id: string, onSuccess: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: AssetUpdate) => call("PATCH /v1/assets/{asset_id}", { path: { asset_id: id }, body }),
    onSuccess,
    onSettled: () => forgetSims(client, id),
  });
}
