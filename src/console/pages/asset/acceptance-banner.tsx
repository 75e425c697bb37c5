import { Box, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../../protocol/api-types.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Note } from "../../parts/note.tsx";
import { PendingButton } from "../../parts/form.tsx";

/** Says that the device of an asset is not accepted, with a button to accept it; nothing if it was accepted. */
export function AcceptanceBanner({ asset }: { readonly asset: Asset }): ReactNode {
  const mayAccept = usePermission("assets.accept");
  const client = useQueryClient();
  const accept = useMutation({
    mutationFn: () => call("POST /v1/assets/{asset_id}/accept", { path: { asset_id: asset.uuid } }),
    onSuccess: () =>
      Promise.all([KEYS.asset(asset.uuid), KEYS.assets].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
  if (asset.accepted_at !== null) return null;
  const isReplaced = asset.attention.includes("device_replaced");
  return (
    <Box mb="md">
      <Note
        kind="warn"
        title={isReplaced ? "Another device has taken the place of this one." : "This device is not accepted yet."}
      >
        <Stack gap="xs" align="start">
          <div>
            Until it is accepted, nothing of a fleet reaches it
            {isReplaced ? ", and nothing that was meant for the device before" : ""}. Make sure that it is the right
            one: with the fleets' apps it gets their secret values too.
          </div>
          {accept.error && <FailureNote failure={toFailure(accept.error)} />}
          {mayAccept ? (
            <PendingButton size="xs" loading={accept.isPending} onClick={() => accept.mutate()}>
              Accept device
            </PendingButton>
          ) : (
            <div>Your role may not accept it: ask a person with the role operator.</div>
          )}
        </Stack>
      </Note>
    </Box>
  );
}
