import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ApiKey } from "../../api/types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Age } from "../../parts/age.tsx";
import { Confirm } from "../../parts/confirm.tsx";

interface Props {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

export function RevokeDialog({ apiKey, onClose }: Props): ReactNode {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => call("DELETE /v1/api-keys/{key_id}", { path: { key_id: apiKey.id } }),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: KEYS.apiKeys });
    },
  });
  return (
    <Confirm
      isOpen
      title={`Revoke ${apiKey.name}?`}
      action="Revoke"
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      Requests with it are refused from now on, and streams that it opened end. It was last used:{" "}
      <Age at={apiKey.last_used_at} />. This cannot be taken back.
    </Confirm>
  );
}
