// Orders a report, tells what became of the order, and shows the report that was published last.
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
} from '@nestjs/common';
import { type Leasehold, LeaseholdError } from 'leasehold';
import { LEASEHOLD } from './leasehold.module.js';
import { buildReport, reportOf } from './reports.worker.js';

@Controller('reports')
export class ReportsController {
  constructor(@Inject(LEASEHOLD) private readonly lh: Leasehold) {}

  /** Answers once the task is durable. Who builds it, this process or another one, does not matter. */
  @Post(':customer')
  @HttpCode(202)
  async order(
    @Param('customer') customer: string,
    @Body('pages') pages: unknown,
  ): Promise<{ taskId: string }> {
    if (typeof pages !== 'number') throw new BadRequestException('pages is not a number');
    const { taskId } = await this.lh.enqueue(buildReport, { customer, pages });
    return { taskId };
  }

  @Get('orders/:taskId')
  async became(@Param('taskId') taskId: string) {
    try {
      return await this.lh.receipt(buildReport, taskId).result();
    } catch (error) {
      if (LeaseholdError.is(error, 'TASK_NOT_FOUND')) throw new NotFoundException(error.message);
      throw error;
    }
  }

  @Get(':customer')
  async latest(@Param('customer') customer: string) {
    const report = await this.lh.objects.get(reportOf(customer));
    if (report === null) throw new NotFoundException();
    return { version: report.version, report: report.value };
  }
}
