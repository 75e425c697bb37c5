import { Code, Group, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { Tags, TagsUpdate } from "../../api/types.ts";
import { Form } from "../../parts/form.tsx";
import { PendingButton } from "../../parts/pending-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { parseTag } from "./parse-tag.ts";

interface Props {
  readonly assetId: string;
  readonly tags: Tags;
}

/** The tags of an asset, each with a button that removes it, and a field that adds one. */
export function TagsSection({ assetId, tags }: Props): ReactNode {
  const mayTag = usePermission("assets.tag");
  const [text, setText] = useState("");
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (body: TagsUpdate) => call("PATCH /v1/assets/{asset_id}/tags", { path: { asset_id: assetId }, body }),
    onSuccess: (_tags, body) => {
      if (!Object.values(body).includes(null)) setText("");
      return client.invalidateQueries({ queryKey: KEYS.asset(assetId) });
    },
  });
  const entries = Object.entries(tags);
  return (
    <section aria-labelledby="tags">
      <Title order={2} id="tags" mb="xs">
        Tags
      </Title>
      {entries.length === 0 && <Text size="sm">It has no tags. Fleets choose their assets by tags.</Text>}
      <Group gap="xs" mb="sm">
        {entries.map(([key, value]) => (
          <Group key={key} gap={4} wrap="nowrap">
            <Code>
              <SafeText text={value === "" ? key : `${key}=${value}`} max={400} />
            </Code>
            {mayTag && (
              <PendingButton
                size="compact-xs"
                variant="default"
                loading={change.isPending && change.variables[key] === null}
                onClick={() => change.mutate({ [key]: null })}
              >
                Remove<span className="visually-hidden"> the tag {key}</span>
              </PendingButton>
            )}
          </Group>
        ))}
      </Group>
      {mayTag && (
        <Form
          action="Set the tag"
          isPending={change.isPending}
          error={change.error}
          canSubmit={text.trim() !== ""}
          onSubmit={() => change.mutate(parseTag(text))}
        >
          <TextInput
            label="Tag"
            description="A key, or key=value. One with the same key is replaced."
            placeholder="role=kiosk"
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Form>
      )}
    </section>
  );
}
