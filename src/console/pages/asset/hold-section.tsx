import { Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Form } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { useHold } from "./asset-queries.ts";

/** Holds an asset, with a reason and until when, or releases it. */
export function HoldSection({ assetId }: { readonly assetId: string }): ReactNode {
  const mayHold = usePermission("assets.hold");
  const hold = useHold(assetId);
  return (
    <section aria-labelledby="hold">
      <Title order={2} id="hold" mb="xs">
        Hold
      </Title>
      <Loaded query={hold}>
        {(held) => (
          <>
            <Text size="sm" mb="xs">
              {held ? "It is held; see above." : "It is not held: rollouts reach it."}
            </Text>
            {mayHold && (held ? <Release assetId={assetId} /> : <Hold assetId={assetId} />)}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Hold({ assetId }: { readonly assetId: string }): ReactNode {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const client = useQueryClient();
  const hold = useMutation({
    mutationFn: () =>
      call("PUT /v1/assets/{asset_id}/hold", {
        path: { asset_id: assetId },
        body: { reason, ...(until !== "" && { until: Math.floor(new Date(until).getTime() / 1000) }) },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.asset(assetId) }),
  });
  return (
    <Form
      action="Hold"
      isPending={hold.isPending}
      error={hold.error}
      canSubmit={reason.trim() !== ""}
      onSubmit={() => hold.mutate()}
    >
      <TextInput
        label="Reason"
        placeholder="Pump test until Thursday"
        maxLength={256}
        value={reason}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label="Until"
        description="In this browser's time zone. Without it, until it is released."
        value={until}
        onChange={({ currentTarget }) => setUntil(currentTarget.value)}
      />
    </Form>
  );
}

function Release({ assetId }: { readonly assetId: string }): ReactNode {
  const client = useQueryClient();
  const release = useMutation({
    mutationFn: () => call("DELETE /v1/assets/{asset_id}/hold", { path: { asset_id: assetId } }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.asset(assetId) }),
  });
  return (
    <Form action="Release" isPending={release.isPending} error={release.error} onSubmit={() => release.mutate()}>
      <Text size="sm">Released, it gets what its fleets have brought to the others meanwhile.</Text>
    </Form>
  );
}
