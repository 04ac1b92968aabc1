/** The fields by which a read asks for an earlier moment. Every read of the state takes them. */
import { Type } from '@sinclair/typebox';
import { At, note, Seq } from './fields.ts';

export const PAST_FIELDS = {
  at_seq: Type.Optional(note(Seq, 'Answers as of this position of the log.')),
  at: Type.Optional(note(At, 'Answers as of this instant: of the last entry that is not after it.')),
};
export type PastFields = typeof PAST_FIELDS;

export interface PastRequest {
  readonly at_seq?: number;
  readonly at?: string;
}

/** Whether a checked request asks for an earlier moment. */
export function isPast(request: unknown): boolean {
  const { at_seq: seq, at } = request as PastRequest;
  return seq !== undefined || at !== undefined;
}
