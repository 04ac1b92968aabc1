// Linearisability: for every name and every task there is one order of the calls in which each gets the answer it got, and
// which respects who was answered before whom asked. Calls without an answer are left open.
import { checker } from './checker.ts';
import { NAME_MODEL } from './name-model.ts';
import { judgeSubjects } from './subjects.ts';
import { TASK_MODEL } from './task-model.ts';

export const linearisable = checker(
  'linearisable',
  'The answers about each name and task fit one order of the calls that respects real time.',
  (reading, complain) => {
    judgeSubjects(NAME_MODEL, reading, complain);
    judgeSubjects(TASK_MODEL, reading, complain);
  },
);
